// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.reader;

import io.thalamus.model.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The choices that a model file leaves to its user. Immutable.
 *
 * @param shapes dimensions of inputs that the file leaves open, by the name of the input or by its
 *     number, which counts from 0; all dimensions of it
 * @param signature the name of the entry point; empty for the usual one
 * @param hybrid whether layers of 8-bit weights over real numbers compute as the file's own engine
 *     does, which rounds the numbers to 8 bits; otherwise the numbers stay as they are, and results
 *     are nearer to those of the network before its weights were rounded
 */
public record ReadOptions(Map<String, Shape> shapes, String signature, boolean hybrid) {
  /** No choice. */
  public static final ReadOptions DEFAULT = new ReadOptions(Map.of(), "", false);

  public ReadOptions {
    shapes = Map.copyOf(shapes);
    Objects.requireNonNull(signature, "signature");
  }

  /** Returns the same with these dimensions alone. */
  public ReadOptions withShapes(Map<String, Shape> wanted) {
    return new ReadOptions(wanted, signature, hybrid);
  }

  /** Returns the same with another entry point. */
  public ReadOptions withSignature(String wanted) {
    return new ReadOptions(shapes, wanted, hybrid);
  }

  /** Returns the same with hybrid layers of the other kind. */
  public ReadOptions withHybrid(boolean wanted) {
    return new ReadOptions(shapes, signature, wanted);
  }

  /**
   * Returns the dimensions of all inputs: those that are chosen, else those of the file.
   *
   * @param names of the inputs in their order
   * @param stated the dimensions in the file, 0 for an open one; none for an unknown rank
   * @return as many as inputs; a dimension that nobody chose is still 0
   * @throws ModelFormatException where there is no such input, or a choice contradicts the file or
   *     leaves a dimension open
   */
  public List<Shape> resolve(List<String> names, List<Shape> stated) throws ModelFormatException {
    for (String name : shapes.keySet()) {
      if (IntStream.range(0, names.size()).noneMatch(i -> isOf(name, names, i))) {
        throw new ModelFormatException(
            "there is no input '"
                + name
                + "'; there are "
                + names.stream().map(known -> "'" + known + "'").collect(Collectors.joining(", ")));
      }
    }
    List<Shape> resolved = new ArrayList<>();
    for (int i = 0; i < names.size(); i++) {
      Shape shape = stated.get(i);
      for (Map.Entry<String, Shape> entry : shapes.entrySet()) {
        if (isOf(entry.getKey(), names, i)) {
          Shape given = entry.getValue();
          boolean fits = given.isFullySpecified() && stated.get(i).combine(given).isPresent();
          if (!fits) {
            throw new ModelFormatException(
                "input '%s' has shape %s, which %s does not fit"
                    .formatted(
                        names.get(i),
                        stated.get(i),
                        given.isFullySpecified() ? given : "a tensor without elements"));
          }
          shape = given;
        }
      }
      resolved.add(shape);
    }
    return resolved;
  }

  /** Returns true if a name is that of an input; a number counts where no input is called so. */
  private static boolean isOf(String name, List<String> names, int input) {
    return name.equals(names.get(input))
        || name.equals(Integer.toString(input)) && !names.contains(name);
  }
}
