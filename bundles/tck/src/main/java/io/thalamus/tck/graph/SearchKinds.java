// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import static io.thalamus.tck.graph.Kinds.BOOLS;
import static io.thalamus.tck.graph.Kinds.INTS;
import static io.thalamus.tck.graph.Kinds.union;

import io.thalamus.model.OperandCode;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.graph.GraphDraft.Out;
import io.thalamus.tck.reference.Evaluator;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/** Operations that give as many elements as they find. */
final class SearchKinds {
  private static final Set<OperandCode> FLOAT32 = Set.of(OperandCode.TENSOR_FLOAT32);

  /** Numbers of which random tensors have several that are equal. */
  private static final double[] FEW = {-1, 0, 0, 2, 3};

  private SearchKinds() {}

  static void register(Kinds kinds) {
    kinds.add(
        Evaluator.name(ThalamusExtension.NON_ZERO),
        union(union(FLOAT32, INTS), BOOLS),
        SearchKinds::nonZero);
    kinds.add(Evaluator.name(ThalamusExtension.UNIQUE), union(FLOAT32, INTS), SearchKinds::unique);
    kinds.add(
        Evaluator.name(ThalamusExtension.NON_MAX_SUPPRESSION), FLOAT32, SearchKinds::suppression);
  }

  private static int few(Growth g, int... shape) {
    double[] stored = new double[Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
    boolean isTruth = g.type() == OperandCode.TENSOR_BOOL8;
    Arrays.setAll(stored, _ -> isTruth ? g.between(0, 1) : FEW[g.random().nextInt(FEW.length)]);
    return g.graph().tensor(g.type(), shape, Quant.NONE, stored);
  }

  private static boolean nonZero(Growth g) {
    int in = g.oneIn(2) ? g.pick() : few(g, g.graph().shape(g.between(1, 4)));
    return g.add(
        List.of(in, g.graph().bool(g.random().nextBoolean())), new Out(OperandCode.TENSOR_INT32));
  }

  private static boolean unique(Growth g) {
    int in = g.oneIn(2) ? g.pick(1, 1) : few(g, g.between(1, 40));
    Out integers = new Out(OperandCode.TENSOR_INT32);
    return g.add(
        List.of(in, g.graph().bool(g.random().nextBoolean())),
        new Out(g.type()),
        integers,
        integers,
        integers);
  }

  private static boolean suppression(Growth g) {
    int images = g.between(1, 2);
    int boxes = g.between(1, 12);
    Range near = new Range(0, 2);
    return g.add(
        List.of(
            g.graph().leaf(g.type(), new int[] {images, boxes, 4}, near),
            g.graph().leaf(g.type(), new int[] {images, g.between(1, 3), boxes}, near),
            g.graph().ints(g.between(1, boxes)),
            g.graph().tensor(g.type(), new int[] {1}, Quant.NONE, g.between(1, 6) / 8.0),
            g.graph().tensor(g.type(), new int[] {1}, Quant.NONE, g.between(0, 6) / 4.0),
            g.graph().bool(g.random().nextBoolean())),
        new Out(OperandCode.TENSOR_INT32));
  }
}
