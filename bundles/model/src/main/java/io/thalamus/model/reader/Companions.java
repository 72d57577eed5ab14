// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.reader;

import io.thalamus.memory.SharedMemory;
import org.osgi.annotation.versioning.ProviderType;

/** The files beside a model file that hold parts of it, its larger constants for example. */
@FunctionalInterface
@ProviderType
public interface Companions {
  /** No files: the model stands alone, as one in memory does. */
  Companions NONE =
      name -> {
        throw new ModelFormatException(
            "it needs the file '" + name + "' beside it, which a model in memory does not have");
      };

  /**
   * Opens a file. The same name gives the same memory, which stays open as long as that of the
   * model file; whoever gave that owns this too.
   *
   * @param name from the model file, thus from anybody; a path within the folder of that file
   * @throws ModelFormatException if there is no such file, it cannot be read, or the name leads
   *     elsewhere
   */
  SharedMemory open(String name) throws ModelFormatException;
}
