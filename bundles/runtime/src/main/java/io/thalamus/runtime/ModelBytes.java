// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import io.thalamus.memory.ReferenceCount;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.reader.ModelReader;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.function.Function;

/**
 * The bytes of a model file, which all models read from them share, and the reader that knows them.
 * Thread-safe. The memory is closed with the last of the models; it is then kept by compilations.
 *
 * @param path where they came from
 * @param reader knows their format
 * @param memory is owned by this
 * @param companions the files beside it, as far as they are read; owned by this
 * @param coding gives a code of bytes, under the user's key if there is one
 * @param models counts the models, after whose last one the memory is closed
 */
record ModelBytes(
    Path path,
    ModelReader reader,
    SharedMemory memory,
    CompanionFiles companions,
    Function<MemorySegment, byte[]> coding,
    ReferenceCount models) {
  ModelBytes(
      Path path,
      ModelReader reader,
      SharedMemory memory,
      CompanionFiles companions,
      Function<MemorySegment, byte[]> coding) {
    this(
        path,
        reader,
        memory,
        companions,
        coding,
        new ReferenceCount(
            () -> {
              companions.close();
              memory.close();
            }));
  }

  /** Returns the code of the file and of those beside it. */
  byte[] code() {
    return code(coding);
  }

  /** Returns their digest. */
  byte[] digest() {
    return code(Digests::sha256);
  }

  private byte[] code(Function<MemorySegment, byte[]> of) {
    try (SharedMemory.Lease _ = memory.lend()) {
      return companions.addTo(of.apply(memory.segment()), of);
    }
  }
}
