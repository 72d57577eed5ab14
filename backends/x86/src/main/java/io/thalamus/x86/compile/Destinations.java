// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.StaticGraph;
import io.thalamus.model.Operation;
import io.thalamus.model.Shape;
import io.thalamus.operations.Moves;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.StridedCopy.Block;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The layers whose results need no CONCATENATION, or another movement, to come where they are read:
 * they are written where it would put them. Immutable.
 */
final class Destinations {
  /**
   * The place of some results in another tensor.
   *
   * @param operand the tensor
   * @param at bytes from its begin to the first result
   * @param step bytes from one result, with all its channels, to the next
   */
  record Destination(int operand, long at, int step) {}

  private final Map<Integer, Destination> destinations = new HashMap<>();

  private Destinations() {}

  /**
   * Returns those of a graph.
   *
   * @param lowerings by operation
   * @param steps by operation, what becomes of it
   */
  static Destinations of(StaticGraph graph, List<Lowering> lowerings, Fusion.Step[] steps) {
    Destinations all = new Destinations();
    Uses uses = new Uses(graph.graph());
    for (int i = 0; i < steps.length; i++) {
      Fusion.Step step = steps[i];
      if (step.isSwallowed() || step.addend() >= 0 || !lowerings.get(i).takesTarget()) {
        continue;
      }
      int result =
          step.result() >= 0
              ? step.result()
              : graph.graph().operations().get(i).outputs().getFirst();
      List<Integer> readers = uses.readers(result);
      if (readers.size() == 1 && readers.getFirst() != Uses.CALLER) {
        destination(graph, result, readers.getFirst())
            .ifPresent(destination -> all.destinations.put(result, destination));
      }
    }
    return all;
  }

  /** Returns where an operation would put a tensor, if it moves all of it as it is. */
  private static Optional<Destination> destination(StaticGraph graph, int operand, int reader) {
    Operation operation = graph.graph().operations().get(reader);
    ResolvedOperation resolved = graph.operations().get(reader);
    if (!(resolved.parameters() instanceof Moves moves)
        || moves.fill().isPresent()
        || operation.outputs().size() > 1) {
      return Optional.empty();
    }
    int input = operation.inputs().indexOf(operand);
    List<Moves.Part> parts = moves.parts().stream().filter(part -> part.input() == input).toList();
    if (parts.size() != 1 || parts.getFirst().rescaling().isPresent()) {
      return Optional.empty();
    }
    Shape shape = graph.shapes().get(operand);
    long size = graph.graph().operands().get(operand).type().elementSize();
    long channels = shape.dimension(shape.rank() - 1);
    return block(parts.getFirst(), shape.elementCount())
        .filter(block -> block.runs() == 1 || parts.getFirst().copy().runLength() == channels)
        .map(
            block ->
                new Destination(
                    operation.outputs().getFirst(),
                    block.target() * size,
                    Math.toIntExact((block.runs() == 1 ? channels : block.targetStep()) * size)));
  }

  /** Returns the runs of a movement that reads elements in their order; empty for another. */
  private static Optional<Block> block(Moves.Part part, long elements) {
    List<Block> blocks = new ArrayList<>();
    part.copy().forEachBlock(blocks::add);
    Block block = blocks.getFirst();
    int length = part.copy().runLength();
    boolean isInOrder =
        blocks.size() == 1
            && block.source() == 0
            && (long) block.runs() * length == elements
            && (length == 1 || part.copy().runSourceStride() == 1)
            && (length == 1 || part.copy().runTargetStride() == 1)
            && (block.runs() == 1 || block.sourceStep() == length && block.targetStep() >= length);
    return isInOrder ? Optional.of(block) : Optional.empty();
  }

  /** Returns where the results stand that are an operand; empty where it has a place of its own. */
  Optional<Destination> of(int operand) {
    return Optional.ofNullable(destinations.get(operand));
  }
}
