// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Lifetime.ConstantReference;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A neural network: a main graph and those that its control flow refers to. Immutable. Larger
 * constants stand in pools, which the maker of the model owns and keeps open.
 *
 * @param main the graph that is executed
 * @param referenced the graphs that IF and WHILE operands refer to by index
 * @param relaxComputationFloat32toFloat16 whether float32 may be computed with the range and
 *     precision of float16
 */
public record Model(
    Subgraph main, List<Subgraph> referenced, boolean relaxComputationFloat32toFloat16) {
  public Model {
    Objects.requireNonNull(main, "main");
    referenced = List.copyOf(referenced);
  }

  /** A model of one graph, computed at full precision. */
  public static Model of(Subgraph main) {
    return new Model(main, List.of(), false);
  }

  /** All graphs, the main one first. */
  public Stream<Subgraph> subgraphs() {
    return Stream.concat(Stream.of(main), referenced.stream());
  }

  /** The distinct pools in which constants stand, in the order of their first use. */
  public List<SharedMemory> pools() {
    Set<SharedMemory> pools = new LinkedHashSet<>();
    addPools(main, pools);
    for (Subgraph subgraph : referenced) {
      addPools(subgraph, pools);
    }
    return List.copyOf(pools);
  }

  private static void addPools(Subgraph subgraph, Set<SharedMemory> pools) {
    for (Operand operand : subgraph.operands()) {
      if (operand.lifetime() instanceof ConstantReference constant) {
        pools.add(constant.pool());
      }
    }
  }
}
