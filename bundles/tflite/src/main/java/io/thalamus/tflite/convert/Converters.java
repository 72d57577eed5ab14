// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.OperationType;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.tflite.file.FlatOperator.Kind;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.tensorflow.lite.schema.BuiltinOperator;

/**
 * The table of what can be converted: by builtin code, and by name for custom operators. Filled
 * family by family, as far as was looked for; thread-safe. To add an operator, add it to its
 * family.
 */
public final class Converters {
  private final Map<Integer, Consumer<Node>> builtin = new HashMap<>();
  private final Map<String, Consumer<Node>> custom = new HashMap<>();

  private final OperationCatalog catalog;
  private int families;

  /**
   * All families.
   *
   * @param catalog what the operations that are made are checked against
   */
  public Converters(OperationCatalog catalog) {
    this.catalog = catalog;
  }

  /**
   * Adds the next family, the usual ones first: to link the converters of a family takes longer
   * than to read a small file.
   *
   * @return false if there is none left
   */
  private boolean addFamily() {
    switch (families++) {
      case 0 -> Convolution.addTo(this);
      case 1 -> Pooling.addTo(this);
      case 2 -> Reshape.addTo(this);
      case 3 -> MatrixMultiply.addTo(this);
      case 4 -> Softmax.addTo(this);
      case 5 -> Elementwise.addTo(this);
      case 6 -> Activation.addTo(this);
      case 7 -> Quantize.addTo(this);
      case 8 -> Reduction.addTo(this);
      case 9 -> Normalization.addTo(this);
      case 10 -> Slice.addTo(this);
      case 11 -> Rearrange.addTo(this);
      case 12 -> Resize.addTo(this);
      case 13 -> Selection.addTo(this);
      case 14 -> UnaryMath.addTo(this);
      case 15 -> Fill.addTo(this);
      case 16 -> {
        Detection.addTo(this);
        Audio.addTo(this);
      }
      case 17 -> Recurrent.addTo(this);
      case 18 -> Scatter.addTo(this);
      case 19 -> Volume.addTo(this);
      case 20 -> Rfft.addTo(this);
      case 21 -> {
        ControlFlow.addTo(this);
        Lists.addTo(this);
      }
      case 22 -> Search.addTo(this);
      case 23 -> Variables.addTo(this);
      case 24 -> Sizes.addTo(this);
      case 25 -> Suppression.addTo(this);
      case 26 -> RandomNumbers.addTo(this);
      case 27 -> Matrices.addTo(this);
      case 28 -> Tables.addTo(this);
      case 29 -> Padding.addTo(this);
      case 30 -> ArgmaxPooling.addTo(this);
      default -> {
        return false;
      }
    }
    return true;
  }

  OperationCatalog catalog() {
    return catalog;
  }

  void add(int code, Consumer<Node> converter) {
    if (builtin.put(code, converter) != null) {
      throw new IllegalStateException("two converters for " + BuiltinOperator.name(code));
    }
  }

  /** Adds an operator that is one operation of as many inputs, with one output. */
  void add(int code, OperationType operation, int inputs) {
    add(
        code,
        node -> {
          List<Integer> operands = IntStream.range(0, inputs).mapToObj(i -> node.in(i)).toList();
          node.emit(operation, operands, node.out(0));
        });
  }

  void addCustom(String name, Consumer<Node> converter) {
    if (custom.put(name, converter) != null) {
      throw new IllegalStateException("two converters for custom operator " + name);
    }
  }

  /** The operators that are known, by name; the custom ones last. */
  public synchronized List<String> operators() {
    while (addFamily()) {
      // until all are there
    }
    return Stream.concat(
            builtin.keySet().stream().map(BuiltinOperator::name).sorted(),
            custom.keySet().stream().sorted())
        .toList();
  }

  synchronized Optional<Consumer<Node>> find(Kind kind) {
    Consumer<Node> found;
    do {
      found =
          kind.code() == BuiltinOperator.CUSTOM
              ? custom.get(kind.customName())
              : builtin.get(kind.code());
    } while (found == null && addFamily());
    return Optional.ofNullable(found);
  }
}
