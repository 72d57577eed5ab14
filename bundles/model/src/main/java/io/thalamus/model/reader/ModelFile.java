// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.reader;

import io.thalamus.model.Model;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * A model with what its file says of it for people and for feeding it. Immutable.
 *
 * @param model the model; the names of its operands are those of the file
 * @param format the name of the format
 * @param description from the file; may be empty
 * @param normalizations by input index, where the file states them
 * @param labels names of the classes of the first output; empty where the file has none
 */
public record ModelFile(
    Model model,
    String format,
    String description,
    Map<Integer, Normalization> normalizations,
    List<String> labels) {
  public ModelFile {
    Objects.requireNonNull(model, "model");
    Objects.requireNonNull(format, "format");
    Objects.requireNonNull(description, "description");
    normalizations = Map.copyOf(normalizations);
    labels = List.copyOf(labels);
  }

  /** A model whose file says nothing else. */
  public static ModelFile of(Model model, String format) {
    return new ModelFile(model, format, "", Map.of(), List.of());
  }

  /** The normalization of an input in training, when the file states it. */
  public Optional<Normalization> normalization(int input) {
    return Optional.ofNullable(normalizations.get(input));
  }

  /** {@code fed = (value - mean) / std}, for values of 0 to 255. */
  public record Normalization(float mean, float std) {}
}
