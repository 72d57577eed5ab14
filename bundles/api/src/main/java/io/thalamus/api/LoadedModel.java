// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.CacheToken;
import io.thalamus.model.Model;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ReadOptions;
import java.nio.file.Path;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A model read from a file or from memory. It holds the bytes that the file had then: whatever
 * happens to the file afterwards changes nothing. Thread-safe; owned by the caller of {@link
 * NeuralNetworks#load}, and closed after the compilations made from it.
 */
@ProviderType
public interface LoadedModel extends AutoCloseable {
  /** Returns the path that the model was read from; the name alone if that was memory. */
  Path path();

  /** Returns the model and what its file says of it. */
  ModelFile file();

  /** Returns the model. */
  default Model model() {
    return file().model();
  }

  /** Returns the choices that it was read with. */
  ReadOptions options();

  /**
   * Reads the same bytes again with other choices, for example for a larger batch. The bytes are
   * shared, and stay until both models are closed.
   *
   * @throws NeuralNetworksException with BAD_DATA where the file leaves no such choice
   * @throws IllegalStateException if the model and all its compilations are closed
   */
  LoadedModel with(ReadOptions options) throws NeuralNetworksException;

  /**
   * Returns a token for {@link CacheOptions}, of the bytes that the model was read from and of its
   * {@link #options}. It is a code under the user's key, which takes less time than a digest: the
   * same in all processes of one storage, and without the key nobody makes another file with it.
   * Without a caching engine it is the {@link #digest}.
   *
   * @throws IllegalStateException if the model and all its compilations are closed
   */
  CacheToken token();

  /**
   * Returns the SHA-256 of the bytes that the model was read from and of its {@link #options}: a
   * name of the model for everybody.
   *
   * @throws IllegalStateException if the model and all its compilations are closed
   */
  byte[] digest();

  /** Frees the bytes, once no compilation uses them any more. */
  @Override
  void close();
}
