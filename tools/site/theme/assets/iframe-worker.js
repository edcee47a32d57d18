// SPDX-License-Identifier: Apache-2.0
// Search runs in a worker, and browsers allow no workers on pages that were opened as a file. There, a hidden frame runs the script
// of the worker instead. mkdocs-material's plugin `offline` would load such a script from elsewhere, unless one of this name is there.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #ready = new Promise((resolve) => this.#frame.addEventListener("load", resolve, { once: true }));

    constructor(url) {
      super();
      this.#frame.hidden = true;
      this.#frame.answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.#frame.srcdoc = `<script>self.postMessage = (data) => frameElement.answer(data)</script><script src="${url}"></script>`;
      document.body.append(this.#frame);
    }

    async postMessage(data) {
      await this.#ready;
      this.#frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() { this.#frame.remove(); }
  };
}
