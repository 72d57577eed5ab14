// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.OperationType;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.tflite.file.FlatOperator.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.tensorflow.lite.schema.BuiltinOperator;

/**
 * The table of what can be converted: by builtin code, and by name for custom operators. Filled
 * once, then only read; thread-safe from then on. To add an operator, add it to its family.
 */
public final class Converters {
  private final Map<Integer, OperatorConverter> builtin = new HashMap<>();
  private final Map<String, OperatorConverter> custom = new HashMap<>();

  private final OperationCatalog catalog;

  private Converters(OperationCatalog catalog) {
    this.catalog = catalog;
  }

  /**
   * All families.
   *
   * @param catalog what the operations that are made are checked against
   */
  public static Converters all(OperationCatalog catalog) {
    Converters table = new Converters(catalog);
    Activation.addTo(table);
    ControlFlow.addTo(table);
    Convolution.addTo(table);
    Detection.addTo(table);
    Elementwise.addTo(table);
    Fill.addTo(table);
    MatrixMultiply.addTo(table);
    Normalization.addTo(table);
    Pooling.addTo(table);
    Quantize.addTo(table);
    Rearrange.addTo(table);
    Recurrent.addTo(table);
    Reduction.addTo(table);
    Reshape.addTo(table);
    Resize.addTo(table);
    Scatter.addTo(table);
    Selection.addTo(table);
    Slice.addTo(table);
    Softmax.addTo(table);
    Rfft.addTo(table);
    UnaryMath.addTo(table);
    Volume.addTo(table);
    return table;
  }

  OperationCatalog catalog() {
    return catalog;
  }

  void add(int code, OperatorConverter converter) {
    if (builtin.put(code, converter) != null) {
      throw new IllegalStateException("two converters for " + BuiltinOperator.name(code));
    }
  }

  /** Adds an operator that is one operation of as many inputs, with one output. */
  void add(int code, OperationType operation, int inputs) {
    add(
        code,
        node -> {
          List<Integer> operands = new ArrayList<>();
          for (int i = 0; i < inputs; i++) {
            operands.add(node.in(i));
          }
          node.emit(operation, operands, node.out(0));
        });
  }

  void addCustom(String name, OperatorConverter converter) {
    if (custom.put(name, converter) != null) {
      throw new IllegalStateException("two converters for custom operator " + name);
    }
  }

  /** The operators that are known, by name; the custom ones last. */
  public List<String> operators() {
    return Stream.concat(
            builtin.keySet().stream().map(BuiltinOperator::name).sorted(),
            custom.keySet().stream().sorted())
        .toList();
  }

  Optional<OperatorConverter> find(Kind kind) {
    return Optional.ofNullable(
        kind.code() == BuiltinOperator.CUSTOM
            ? custom.get(kind.customName())
            : builtin.get(kind.code()));
  }
}
