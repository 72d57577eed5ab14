// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import java.util.List;

/** A WHILE of ADD and LESS that only its timeout ends. */
public final class EndlessLoop {
  private EndlessLoop() {}

  /** Returns {@code while (value < 1) value += 0}, which begins with 0. */
  public static Model model() {
    SubgraphBuilder condition = new SubgraphBuilder();
    condition.operation(
        OperationCode.LESS,
        List.of(number(condition), condition.int32Vector(1)),
        List.of(condition.output("", OperandCode.TENSOR_BOOL8, Shape.of(1), Quantization.NONE)));
    SubgraphBuilder body = new SubgraphBuilder();
    body.operation(
        OperationCode.ADD,
        List.of(number(body), body.int32Vector(0), body.int32(0)),
        List.of(result(body)));
    SubgraphBuilder main = new SubgraphBuilder();
    main.operation(
        OperationCode.WHILE,
        List.of(main.subgraph(0), main.subgraph(1), number(main)),
        List.of(result(main)));
    List<Subgraph> referenced = List.of(condition.build(), body.build());
    return new Model(main.build(), referenced, false);
  }

  private static int number(SubgraphBuilder graph) {
    return graph.input("", OperandCode.TENSOR_INT32, Shape.of(1), Quantization.NONE);
  }

  private static int result(SubgraphBuilder graph) {
    return graph.output("", OperandCode.TENSOR_INT32, Shape.of(1), Quantization.NONE);
  }
}
