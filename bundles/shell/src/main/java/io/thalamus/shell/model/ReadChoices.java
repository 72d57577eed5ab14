// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.model;

import io.thalamus.console.Candidates;
import io.thalamus.console.Invocation;
import io.thalamus.console.Syntax;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ReadOptions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The options of commands for what a model file leaves open. Stateless. */
public final class ReadChoices {
  private static final String SHAPE = "shape";
  private static final String SIGNATURE = "signature";
  private static final String HYBRID = "hybrid";

  private ReadChoices() {}

  /** Adds the options. */
  public static Syntax addTo(Syntax syntax) {
    return syntax
        .repeated(
            SHAPE,
            "[INPUT=]1x224x224x3",
            "dimensions of an input that the file leaves open; by its name or number",
            Candidates.NONE)
        .option(SIGNATURE, "NAME", "the entry point of the file: nn:info lists them")
        .flag(HYBRID, null, "round what meets 8-bit weights to 8 bits, as TensorFlow Lite does");
  }

  /** Returns what the options say. */
  static ReadOptions of(Invocation invocation) {
    Map<String, Shape> shapes = new HashMap<>();
    for (String word : invocation.arguments().texts(SHAPE)) {
      int equals = word.lastIndexOf('=');
      String name = equals < 0 ? "0" : word.substring(0, equals);
      if (shapes.put(name, shape(word.substring(equals + 1), word, invocation)) != null) {
        throw invocation.usage("--shape names input " + name + " twice");
      }
    }
    String signature = invocation.arguments().text(SIGNATURE).orElse("");
    return new ReadOptions(shapes, signature, invocation.arguments().has(HYBRID));
  }

  private static Shape shape(String text, String word, Invocation invocation) {
    String[] parts = text.split("[x,]", -1);
    int[] dimensions = new int[parts.length];
    for (int i = 0; i < dimensions.length; i++) {
      try {
        dimensions[i] = Integer.parseInt(parts[i]);
      } catch (NumberFormatException e) {
        dimensions[i] = 0;
      }
      if (dimensions[i] < 1) {
        throw invocation.usage(
            "--shape " + word + " is not written as INPUT=1x224x224x3, with numbers from 1");
      }
    }
    return Shape.of(dimensions);
  }

  /** Returns the words that make a command choose the same again. */
  public static List<String> words(Invocation invocation) {
    List<String> words = new ArrayList<>();
    for (String shape : invocation.arguments().texts(SHAPE)) {
      words.addAll(List.of("--" + SHAPE, shape));
    }
    Optional<String> signature = invocation.arguments().text(SIGNATURE);
    signature.ifPresent(name -> words.addAll(List.of("--" + SIGNATURE, name)));
    if (invocation.arguments().has(HYBRID)) {
      words.add("--" + HYBRID);
    }
    return words;
  }
}
