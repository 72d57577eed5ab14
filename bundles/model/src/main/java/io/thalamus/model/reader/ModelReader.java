// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.reader;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.osgi.annotation.versioning.ConsumerType;

/** Reads one format of model files. A service; thread-safe. */
@ConsumerType
public interface ModelReader {
  /** The name of the format for people, for example {@code TensorFlow Lite}. */
  String format();

  /**
   * Returns whether a file looks like this format.
   *
   * @param fileName the last part of its path
   * @param head its first bytes, up to 64
   */
  boolean accepts(String fileName, MemorySegment head);

  /**
   * Reads a model. Its larger constants refer to {@code file}, which the caller owns and keeps open
   * as long as the model is used.
   *
   * @throws ModelFormatException where the file is damaged, or holds what cannot be expressed; the
   *     message names the place
   */
  ModelFile read(SharedMemory file) throws ModelFormatException;

  /**
   * Reads a model whose inputs have open dimensions, with dimensions for them.
   *
   * @param shapes by the name of the input, all dimensions of it
   * @throws ModelFormatException as above; where there is no such input, or its known dimensions
   *     are others; and where the format does not fix dimensions
   */
  default ModelFile read(SharedMemory file, Map<String, Shape> shapes) throws ModelFormatException {
    if (shapes.isEmpty()) {
      return read(file);
    }
    throw new ModelFormatException(format() + " files are read with their own shapes alone");
  }
}
