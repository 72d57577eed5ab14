// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import java.util.List;
import java.util.Objects;

/**
 * A model as its clients see it. Immutable.
 *
 * @param versions the versions that answer, ascending
 * @param version the version that the rest is said of
 * @param platform the file format by Triton's kind of names, {@code tensorflow_lite} or {@code
 *     onnx}
 * @param digest SHA-256 of the file, in hexadecimal digits
 */
public record ModelMetadata(
    String name,
    List<String> versions,
    String version,
    String platform,
    String digest,
    List<TensorMetadata> inputs,
    List<TensorMetadata> outputs) {
  public ModelMetadata {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(version, "version");
    Objects.requireNonNull(platform, "platform");
    Objects.requireNonNull(digest, "digest");
    versions = List.copyOf(versions);
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }
}
