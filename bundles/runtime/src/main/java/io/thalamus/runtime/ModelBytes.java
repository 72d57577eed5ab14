// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import io.thalamus.memory.ReferenceCount;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.reader.ModelReader;
import java.nio.file.Path;

/**
 * The bytes of a model file, which all models read from them share, and the reader that knows them.
 * Thread-safe. The memory is closed with the last of the models; it is then kept by compilations.
 *
 * @param path where they came from
 * @param reader knows their format
 * @param memory is owned by this
 * @param companions the files beside it, as far as they are read; owned by this
 * @param models counts the models, after whose last one the memory is closed
 */
record ModelBytes(
    Path path,
    ModelReader reader,
    SharedMemory memory,
    CompanionFiles companions,
    ReferenceCount models) {
  ModelBytes(Path path, ModelReader reader, SharedMemory memory, CompanionFiles companions) {
    this(
        path,
        reader,
        memory,
        companions,
        new ReferenceCount(
            () -> {
              companions.close();
              memory.close();
            }));
  }
}
