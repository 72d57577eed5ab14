// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.OnnxNode;
import io.thalamus.operations.OperationCatalog;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** The converters by kind of operator. Immutable once made. */
public final class Converters {
  private final Map<String, OperatorConverter> table = new HashMap<>();
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
    Elementwise.addTo(table);
    Angles.addTo(table);
    Einsum.addTo(table);
    Activation.addTo(table);
    Shapes.addTo(table);
    Movement.addTo(table);
    Indexing.addTo(table);
    Reductions.addTo(table);
    Matrices.addTo(table);
    Convolution.addTo(table);
    Pooling.addTo(table);
    Normalization.addTo(table);
    Sampling.addTo(table);
    Control.addTo(table);
    Attention.addTo(table);
    Quantization.addTo(table);
    QLinear.addTo(table);
    Recurrent.addTo(table);
    Scatter.addTo(table);
    GridSampling.addTo(table);
    RegionAlign.addTo(table);
    LinearAttention.addTo(table);
    Fused.addTo(table);
    FusedAttention.addTo(table);
    Losses.addTo(table);
    return table;
  }

  OperationCatalog catalog() {
    return catalog;
  }

  void add(String type, OperatorConverter converter) {
    if (table.put(type, converter) != null) {
      throw new IllegalStateException("two converters for " + type);
    }
  }

  Optional<OperatorConverter> find(OnnxNode node) {
    return Optional.ofNullable(
        table.get(node.domain().isEmpty() ? node.type() : node.domain() + "." + node.type()));
  }

  /** The operators of ONNX that are known, by name. */
  public Set<String> operators() {
    return new TreeSet<>(table.keySet());
  }
}
