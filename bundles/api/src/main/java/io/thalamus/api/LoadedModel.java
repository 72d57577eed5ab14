// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.Model;
import io.thalamus.model.reader.ModelFile;
import java.nio.file.Path;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A model read from a file, which stays mapped until this is closed. Thread-safe; owned by the
 * caller of {@link NeuralNetworks#load}, and closed after the compilations made from it.
 */
@ProviderType
public interface LoadedModel extends AutoCloseable {
  /** Where it was read from. */
  Path path();

  /** The model and what its file says of it. */
  ModelFile file();

  /** The model. */
  default Model model() {
    return file().model();
  }

  /** Unmaps the file, once no compilation uses it any more. */
  @Override
  void close();
}
