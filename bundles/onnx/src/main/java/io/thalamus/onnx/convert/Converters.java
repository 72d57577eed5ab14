// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.file.OnnxNode;
import io.thalamus.operations.OperationCatalog;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * The converters by kind of operator. Filled family by family, as far as was looked for;
 * thread-safe.
 */
public final class Converters {
  private final Map<String, Consumer<Node>> table = new HashMap<>();
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
      case 1 -> Activation.addTo(this);
      case 2 -> Elementwise.addTo(this);
      case 3 -> Shapes.addTo(this);
      case 4 -> Pooling.addTo(this);
      case 5 -> Matrices.addTo(this);
      case 6 -> Movement.addTo(this);
      case 7 -> Normalization.addTo(this);
      case 8 -> Reductions.addTo(this);
      case 9 -> Quantization.addTo(this);
      case 10 -> QLinear.addTo(this);
      case 11 -> Indexing.addTo(this);
      case 12 -> Attention.addTo(this);
      case 13 -> Sampling.addTo(this);
      case 14 -> Control.addTo(this);
      case 15 -> Recurrent.addTo(this);
      case 16 -> Scatter.addTo(this);
      case 17 -> Einsum.addTo(this);
      case 18 -> Angles.addTo(this);
      case 19 -> GridSampling.addTo(this);
      case 20 -> RegionAlign.addTo(this);
      case 21 -> LinearAttention.addTo(this);
      case 22 -> Fused.addTo(this);
      case 23 -> FusedAttention.addTo(this);
      case 24 -> Losses.addTo(this);
      case 25 -> Search.addTo(this);
      case 26 -> Classical.addTo(this);
      case 27 -> Trees.addTo(this);
      case 28 -> Columns.addTo(this);
      case 29 -> Signals.addTo(this);
      case 30 -> RandomNumbers.addTo(this);
      case 31 -> Sequences.addTo(this);
      case 32 -> Bits.addTo(this);
      case 33 -> GroupedAttention.addTo(this);
      case 34 -> Contributed.addTo(this);
      case 35 -> Experimental.addTo(this);
      case 36 -> Experts.addTo(this);
      case 37 -> Gates.addTo(this);
      default -> {
        return false;
      }
    }
    return true;
  }

  OperationCatalog catalog() {
    return catalog;
  }

  void add(String type, Consumer<Node> converter) {
    if (table.put(type, converter) != null) {
      throw new IllegalStateException("two converters for " + type);
    }
  }

  synchronized Optional<Consumer<Node>> find(OnnxNode node) {
    String name = node.domain().isEmpty() ? node.type() : node.domain() + "." + node.type();
    Consumer<Node> found;
    do {
      found = table.get(name);
    } while (found == null && addFamily());
    return Optional.ofNullable(found);
  }

  /** The operators of ONNX that are known, by name. */
  public synchronized Set<String> operators() {
    while (addFamily()) {
      // until all are there
    }
    return new TreeSet<>(table.keySet());
  }
}
