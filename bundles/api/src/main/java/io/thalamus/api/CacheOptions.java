// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.CacheToken;
import io.thalamus.model.Model;
import io.thalamus.model.ModelDigest;
import java.nio.file.Path;
import java.util.Objects;

/**
 * A place where compilations of one model are stored: NNAPI's caching directory and token.
 * Immutable.
 *
 * <p>The token stands for the model: an application that gives the same token for another model may
 * get the answers of the first. A digest of the model's file makes a good one, as {@link
 * LoadedModel#token} has it, or {@link #of(Path, Model, String)} for a model that was built. The
 * runtime itself adds a checksum of the model's constants, and all else that decides a compilation,
 * such as device, version, priority and the part of the model.
 *
 * @param directory of the files, created when it is missing. Any number of applications and
 *     processes may share it
 * @param token names the model
 * @param label of the entries, for people, for example the name of the model's file; may be empty
 */
public record CacheOptions(Path directory, CacheToken token, String label) {
  public CacheOptions {
    Objects.requireNonNull(directory, "directory");
    Objects.requireNonNull(token, "token");
    Objects.requireNonNull(label, "label");
  }

  /**
   * Caching of a model in a directory, under the SHA-256 of all that makes the model. Reads all of
   * its constants.
   *
   * @throws IllegalStateException if the memory of a constant is closed
   */
  public static CacheOptions of(Path directory, Model model, String label) {
    return new CacheOptions(directory, CacheToken.of(ModelDigest.of(model)), label);
  }

  /**
   * Caching in a directory under a token of these bytes, without a label.
   *
   * @throws NeuralNetworksException with BAD_DATA where there are not 32 bytes
   */
  public static CacheOptions of(Path directory, byte[] token) throws NeuralNetworksException {
    if (token.length != CacheToken.SIZE) {
      throw NeuralNetworksException.badData(
          "a cache token has " + CacheToken.SIZE + " bytes, not " + token.length);
    }
    return new CacheOptions(directory, CacheToken.of(token), "");
  }
}
