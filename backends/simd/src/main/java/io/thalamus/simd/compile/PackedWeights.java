// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.kernel.PackedMatrix;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Supplier;

/**
 * The weights of a program in the form that the kernels read, in the order in which its steps are
 * lowered: packed by the lowerings, or taken from a cache, for a program of the same graph. Used by
 * one thread.
 */
public final class PackedWeights {
  private final List<Weights> packed = new ArrayList<>();

  /** Null where everything is packed anew. */
  private final Iterator<Weights> stored;

  /**
   * The weights of one product.
   *
   * @param operand of the graph that they are
   * @param matrix as the kernels read it
   * @param parts where the exact parts of the depth of an integer product begin, and the depth;
   *     null for floats
   */
  public record Weights(int operand, PackedMatrix matrix, List<Integer> parts) {}

  private PackedWeights(Iterator<Weights> stored) {
    this.stored = stored;
  }

  /** Weights that are packed from the constants of the graph. */
  public static PackedWeights packing() {
    return new PackedWeights(null);
  }

  /** Weights that were packed before, for the same graph. */
  public static PackedWeights of(List<Weights> stored) {
    return new PackedWeights(stored.iterator());
  }

  /** Returns the weights of the next product. */
  Weights next(Supplier<Weights> pack) {
    Weights next = stored == null ? pack.get() : stored.next();
    packed.add(next);
    return next;
  }

  /** Returns all weights, in order. */
  public List<Weights> all() {
    return List.copyOf(packed);
  }
}
