// SPDX-License-Identifier: Apache-2.0
// Opens paths name by name. Each folder is checked as the one that is open, so nobody can exchange it afterwards.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "support/descriptor.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// What a path may lead through. Where a user namespace hides root, the overflow user counts as root, for links only in
/// folders that nobody but their owner can write to.
enum class path_trust {
  links,    ///< links must belong to the user or to root: another user's link could lead to a file of the user
  folders,  ///< also, nobody but the user and root may be able to put another file in the path's place
};

/// Whether a file or a folder belongs to the user or to root.
bool is_ours(const struct stat& status);

/// Whether a user namespace shows the files of root as those of the overflow user, to whom the kernel ascribes the
/// files of all users that the namespace does not map.
/// \param map  the text of /proc/self/uid_map
bool hides_root(const std::string& map, uid_t overflow_user);

/// True if its group or other users may write to it.
bool others_may_write(const struct stat& status);

/// Opens a folder (O_PATH). With `path_trust::folders`, the folder itself must be writable to nobody but its owner;
/// folders above it may also be sticky, like /tmp.
/// \param makes  makes missing folders, for the user alone
/// \return not open if there is no such folder or it cannot be opened; `errno` has the reason
/// \throws error that names what cannot be trusted
descriptor open_folder(const std::filesystem::path& folder, path_trust trust, bool makes = false);

/// Where a path ends: a name in an open folder.
struct path_end {
  descriptor folder;
  std::string name;      ///< of no link, and perhaps of nothing yet
  bool is_proc = false;  ///< the name is one of /proc, where links lead to open files
};

/// Follows the links of a path, those of the user and of root.
/// \throws error that names the file and what is wrong: a folder is missing, a link belongs to somebody else, or the
/// path ends in a slash or a dot
path_end find_end(const std::filesystem::path& file);

}  // namespace SYCLAMP_NAMESPACE
