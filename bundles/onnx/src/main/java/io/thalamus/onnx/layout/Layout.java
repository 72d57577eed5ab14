// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.layout;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Subgraph;
import io.thalamus.operations.OperationCatalog;
import java.util.List;
import java.util.Map;

/** All passes, in the order in which one prepares the next. */
public final class Layout {
  private Layout() {}

  /**
   * A graph that computes the same with fewer transposes and operations, and on stored integers
   * where it goes on from them and back to them.
   *
   * @param catalog what quantized operations are checked against
   * @param grids by identity, the constants that are integers in the place of real numbers
   */
  public static Subgraph improve(
      Subgraph graph, OperationCatalog catalog, Map<Lifetime.Constant, Grid> grids) {
    Subgraph sunk = Pruning.prune(TransposeSinking.sink(Pruning.prune(graph), grids));
    Subgraph scaled = Pruning.prune(ScaleFusion.fuse(sunk, grids));
    Subgraph fused = Pruning.prune(ActivationFusion.fuse(HardSwishFusion.fuse(scaled, grids)));
    return Pruning.prune(QuantizedFusion.fuse(fused, catalog, grids));
  }

  /** A model of an improved graph and those that it refers to; what was only tried is left out. */
  public static Model model(Subgraph main, List<Subgraph> referenced) {
    return Pruning.model(main, referenced);
  }
}
