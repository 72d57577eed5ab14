// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import io.thalamus.model.Subgraph;

/** All passes, in the order in which one prepares the next. */
public final class Layout {
  private Layout() {}

  /** A graph that computes the same with fewer transposes and operations. */
  public static Subgraph improve(Subgraph graph) {
    Subgraph sunk = Pruning.prune(TransposeSinking.sink(Pruning.prune(graph)));
    return Pruning.prune(ActivationFusion.fuse(sunk));
  }
}
