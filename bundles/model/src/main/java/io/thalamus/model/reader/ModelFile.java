// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.reader;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import java.util.HashMap;
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
 * @param openInputs by input index, the dimensions of inputs that have open ones, which are 0; the
 *     model has sizes for them
 * @param signatures the names of the entry points; empty where the file names none
 * @param firstValues by input index, what states begin with where the file says so; a value may lie
 *     in the memory of the file
 */
public record ModelFile(
    Model model,
    String format,
    String description,
    Map<Integer, Normalization> normalizations,
    List<String> labels,
    Map<Integer, Shape> openInputs,
    List<String> signatures,
    Map<Integer, Lifetime.Constant> firstValues) {
  public ModelFile {
    Objects.requireNonNull(model, "model");
    Objects.requireNonNull(format, "format");
    Objects.requireNonNull(description, "description");
    normalizations = Map.copyOf(normalizations);
    labels = List.copyOf(labels);
    openInputs = Map.copyOf(openInputs);
    signatures = List.copyOf(signatures);
    firstValues = Map.copyOf(firstValues);
  }

  /** A model whose dimensions are all fixed, with one entry point. */
  public ModelFile(
      Model model,
      String format,
      String description,
      Map<Integer, Normalization> normalizations,
      List<String> labels) {
    this(model, format, description, normalizations, labels, Map.of(), List.of(), Map.of());
  }

  /** A model whose file says nothing else. */
  public static ModelFile of(Model model, String format) {
    return new ModelFile(model, format, "", Map.of(), List.of());
  }

  /**
   * Returns the same, whose description says that results of uint32 are given as int32.
   *
   * @param names of such results; none changes nothing
   */
  public ModelFile withUnsignedResults(List<String> names) {
    if (names.isEmpty()) {
      return this;
    }
    String all = String.join(", ", names).replaceAll("\\p{Cntrl}", "?");
    String sentence = "Results of uint32 are given as int32 of the same bits: " + all + ".";
    return new ModelFile(
        model,
        format,
        (description + " " + sentence).strip(),
        normalizations,
        labels,
        openInputs,
        signatures,
        firstValues);
  }

  /** Returns the same with these dimensions of inputs, by input index; 0 for an open one. */
  public ModelFile withOpenInputs(Map<Integer, Shape> open) {
    return new ModelFile(
        model, format, description, normalizations, labels, open, signatures, firstValues);
  }

  /** Returns the same with these names of entry points. */
  public ModelFile withSignatures(List<String> names) {
    return new ModelFile(
        model, format, description, normalizations, labels, openInputs, names, firstValues);
  }

  /** Returns the same with these values that states begin with, by input index. */
  public ModelFile withFirstValues(Map<Integer, Lifetime.Constant> values) {
    return new ModelFile(
        model, format, description, normalizations, labels, openInputs, signatures, values);
  }

  /** Returns an input; its open dimensions are 0. */
  public Operand input(int index) {
    Operand input = model.main().input(index);
    Shape open = openInputs.get(index);
    return open == null ? input : input.with(open);
  }

  /**
   * Returns the dimensions with which the file is to be read again for other inputs, for {@link
   * ReadOptions#withShapes}; empty if the model takes these, or nothing would make it.
   *
   * @param shapes those of the inputs, in their order
   */
  public Map<String, Shape> shapesFor(List<Shape> shapes) {
    Map<String, Shape> found = shapesForValues(shapes);
    return found.values().stream().allMatch(Shape::isFullySpecified) ? found : Map.of();
  }

  /**
   * Returns the same for values, of which those with a size of 0 have no elements. The model that
   * is read for them may lack their inputs.
   *
   * @param shapes those of the values for each input, in their order
   */
  public Map<String, Shape> shapesForValues(List<Shape> shapes) {
    if (shapes.size() != model.main().inputIndexes().size()) {
      return Map.of();
    }
    Map<String, Shape> wanted = new HashMap<>();
    boolean isOther = false;
    for (Map.Entry<Integer, Shape> entry : openInputs.entrySet()) {
      Shape shape = shapes.get(entry.getKey());
      if (entry.getValue().combine(shape).filter(shape::equals).isEmpty()) {
        return Map.of();
      }
      isOther |= !model.main().input(entry.getKey()).shape().equals(shape);
      wanted.put(model.main().input(entry.getKey()).name(), shape);
    }
    return isOther ? wanted : Map.of();
  }

  /** The normalization of an input in training, when the file states it. */
  public Optional<Normalization> normalization(int input) {
    return Optional.ofNullable(normalizations.get(input));
  }

  /** Returns what an input begins with that is a state; empty if the file says nothing. */
  public Optional<Lifetime.Constant> firstValue(int input) {
    return Optional.ofNullable(firstValues.get(input));
  }

  /** Returns the number of inputs without the last ones that have first values. */
  public int neededInputs() {
    int needed = model.main().inputIndexes().size();
    while (needed > 0 && firstValues.containsKey(needed - 1)) {
      needed--;
    }
    return needed;
  }

  /** {@code fed = (value - mean) / std}, for values of 0 to 255. */
  public record Normalization(float mean, float std) {}
}
