// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.fakes;

import io.thalamus.api.Compilation;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** Small float models, and how to run them. */
public final class Graphs {
  public static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;

  private Graphs() {}

  /** Builds graphs of one shape. */
  public static final class Builder {
    private final SubgraphBuilder graph = new SubgraphBuilder();
    private final Shape shape;

    public Builder(int... dimensions) {
      shape = Shape.of(dimensions);
    }

    public int input(String name) {
      return graph.input(name, OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    }

    public int boolInput(String name) {
      return graph.input(name, OperandCode.TENSOR_BOOL8, Shape.of(1), Quantization.NONE);
    }

    public int output(String name) {
      return graph.output(name, OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    }

    public int temporary(String name) {
      return graph.temporary(name, OperandCode.TENSOR_FLOAT32, shape, Quantization.NONE);
    }

    /** Adds {@code to = a OP b} without activation. */
    public Builder op(OperationCode type, int a, int b, int to) {
      return op(type, 0, a, b, to);
    }

    public Builder op(OperationCode type, int activation, int a, int b, int to) {
      boolean isFused = type != OperationCode.MAXIMUM && type != OperationCode.MINIMUM;
      graph.operation(
          type, isFused ? List.of(a, b, graph.int32(activation)) : List.of(a, b), List.of(to));
      return this;
    }

    public int reference(int index) {
      return graph.operand(
          new Operand(
              OperandCode.SUBGRAPH,
              Shape.NONE,
              Quantization.NONE,
              new SubgraphReference(index),
              ""));
    }

    public SubgraphBuilder raw() {
      return graph;
    }

    public Subgraph build() {
      return graph.build();
    }

    public Model model() {
      return Model.of(graph.build());
    }
  }

  /** {@code sum = (a + b) * c}, over four elements. */
  public static Model addThenMul() {
    Builder g = new Builder(2, 2);
    int a = g.input("a");
    int b = g.input("b");
    int c = g.input("c");
    int t = g.temporary("t");
    int out = g.output("out");
    g.op(OperationCode.ADD, a, b, t);
    g.op(OperationCode.MUL, t, c, out);
    return g.model();
  }

  /** {@code out = in + in}, of this shape. */
  public static Model twice(int... dimensions) {
    Builder g = new Builder(dimensions);
    int in = g.input("x");
    int out = g.output("y");
    g.op(OperationCode.ADD, in, in, out);
    return g.model();
  }

  public static MemorySegment floats(float... values) {
    return MemorySegment.ofArray(values);
  }

  /** Runs {@link #addThenMul()} on (1,2,3,4), (10,20,30,40), (2,2,2,3). */
  public static Execution addThenMulExecution(Compilation compilation, float[] result) {
    return compilation
        .createExecution()
        .setInput(0, floats(1, 2, 3, 4))
        .setInput(1, floats(10, 20, 30, 40))
        .setInput(2, floats(2, 2, 2, 3))
        .setOutput(0, floats(result));
  }

  /** Returns the right result of {@link #addThenMulExecution}. */
  public static float[] addThenMulResult() {
    return new float[] {22, 44, 66, 132};
  }

  /** The ids of the devices in a report, in order. */
  public static List<String> ranOn(ExecutionReport report) {
    return report.steps().stream().map(ExecutionReport.StepReport::device).toList();
  }
}
