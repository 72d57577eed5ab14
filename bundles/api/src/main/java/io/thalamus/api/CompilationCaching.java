// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.CacheToken;
import java.nio.file.Path;
import java.util.Objects;

/**
 * Where compilations of one model are kept, NNAPI's caching directory and token. Immutable.
 *
 * <p>The token stands for the model: whoever gives the same token for another model may get the
 * answers of the first. A digest of the model's file makes a good one. What else decides a
 * compilation, such as device, version, priority and the part of the model, the runtime adds
 * itself.
 *
 * @param directory where the files are; made where it is missing. Any number of applications and
 *     processes may share it
 * @param token names the model
 * @param label what the entries are called for people, for example the name of the model's file;
 *     may be empty
 */
public record CompilationCaching(Path directory, CacheToken token, String label) {
  public CompilationCaching {
    Objects.requireNonNull(directory, "directory");
    Objects.requireNonNull(token, "token");
    Objects.requireNonNull(label, "label");
  }

  /**
   * Caching in a directory under a token of these bytes, without a label.
   *
   * @throws NeuralNetworksException with BAD_DATA where there are not 32 bytes
   */
  public static CompilationCaching of(Path directory, byte[] token) throws NeuralNetworksException {
    if (token.length != CacheToken.SIZE) {
      throw new NeuralNetworksException(
          ResultCode.BAD_DATA,
          "a cache token has " + CacheToken.SIZE + " bytes, not " + token.length);
    }
    return new CompilationCaching(directory, CacheToken.of(token), "");
  }
}
