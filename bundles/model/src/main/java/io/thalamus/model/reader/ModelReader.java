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
   * @param fileName the last part of its path; empty where the contents alone are to decide
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
   * Reads a model with the choices that its file leaves open. A reader that takes part states the
   * open dimensions by {@link ModelFile#withOpenInputs}, fixes them to those of {@link
   * ReadOptions#resolve}, and to sizes of its own where nobody chose; names of entry points go to
   * {@link ModelFile#withSignatures}. Callers read the same bytes again for other dimensions, so
   * the same options give the same model.
   *
   * @throws ModelFormatException as above; where there is no such input or entry point, or known
   *     dimensions are others; and where the format leaves no such choice
   */
  default ModelFile read(SharedMemory file, ReadOptions options) throws ModelFormatException {
    if (options.equals(ReadOptions.DEFAULT)) {
      return read(file);
    }
    throw new ModelFormatException(
        format() + " files leave no choice of shapes, entry point or hybrid layers");
  }

  /**
   * Reads a model that may have parts in other files. Constants may refer to their memory, which
   * stays open as that of {@code file} does. A reader whose files stand alone has no need of this.
   *
   * @throws ModelFormatException as above, and where another file is missing or does not fit
   */
  default ModelFile read(SharedMemory file, ReadOptions options, Companions companions)
      throws ModelFormatException {
    return read(file, options);
  }
}
