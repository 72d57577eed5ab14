// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.reader;

import io.thalamus.memory.SharedMemory;
import java.lang.foreign.MemorySegment;
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
}
