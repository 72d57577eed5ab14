// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.model.LittleEndian;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.x86.compile.BroadcastRuns.Run;
import io.thalamus.x86.kernel.Chain;
import io.thalamus.x86.kernel.Chain.Operand;
import io.thalamus.x86.kernel.Chain.Source;
import io.thalamus.x86.kernel.Chain.Step;
import io.thalamus.x86.kernel.ElementFunction;
import io.thalamus.x86.kernel.Function;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Functions of elements that one pass over memory computes. Nothing is ever stored in the places of
 * results before the last one; they only name what later functions read. Used once.
 */
final class ElementChain {
  /** Steps of all elements of a call: some tens of microseconds. */
  private static final int LONGEST = 1 << 16;

  /** Elements that calls are multiples of, which keeps whole vectors. */
  private static final int MULTIPLE = 64;

  /** A bound of the code and of the steps of a call. */
  private static final int MOST_STEPS = 16;

  /** Elements of a run that cost little beside those of a longer one. */
  private static final int LONG_RUN = 32;

  /** Calls that cost little beside a pass. */
  private static final int FEW_CALLS = 64;

  private final List<Tensor> tensors = new ArrayList<>();
  private final List<Step> steps = new ArrayList<>();

  /** By place, the step that writes it. */
  private final Map<Place, Integer> results = new HashMap<>();

  /** A tensor that is read. */
  record Tensor(Place place, Shape shape) {}

  /** Adds an operation, behind those whose results it reads. */
  void add(ResolvedOperation operation, ElementFunction function, Lowering.Operands operands) {
    List<OperandView> views = operation.view().inputs().subList(0, function.operands());
    boolean isConstant = views.stream().allMatch(ElementChain::isNumber);
    List<Operand> read = new ArrayList<>();
    for (int i = 0; i < views.size(); i++) {
      OperandView view = views.get(i);
      read.add(
          isNumber(view) && !isConstant
              ? new Operand.Number(view.value().orElseThrow().get(LittleEndian.INT, 0))
              : operand(new Tensor(operands.input(i), view.shape())));
    }
    put(function, read, operands.output());
  }

  /** Adds a function of tensors. */
  void add(ElementFunction function, List<Tensor> read, Place result) {
    put(function, read.stream().map(this::operand).toList(), result);
  }

  private void put(ElementFunction function, List<Operand> read, Place result) {
    results.put(result, steps.size());
    steps.add(new Step(function, read.subList(0, function.operands())));
  }

  private static boolean isNumber(OperandView view) {
    return (view.type() == OperandCode.TENSOR_FLOAT32 || view.type() == OperandCode.TENSOR_INT32)
        && view.value().isPresent()
        && view.shape().elementCount() == 1;
  }

  private Operand operand(Tensor tensor) {
    Integer step = results.get(tensor.place());
    if (step != null) {
      return new Operand.Result(step);
    }
    if (!tensors.contains(tensor)) {
      tensors.add(tensor);
    }
    return new Operand.Tensor(tensors.indexOf(tensor));
  }

  private List<Shape> shapes() {
    return tensors.stream().map(Tensor::shape).toList();
  }

  /** Returns true if there are registers for all that a pass must keep. */
  boolean isPossible() {
    return steps.size() <= MOST_STEPS
        && tensors.size() <= Chain.MOST_SOURCES
        && Chain.results(steps) <= Chain.MOST_RESULTS;
  }

  /** Returns true if one pass has no shorter runs than a part of it, and hardly more calls. */
  boolean isAsLongAs(ElementChain part, Shape result) {
    if (shapes().equals(part.shapes())) {
      return true;
    }
    int longest = BroadcastRuns.count(part.shapes(), result);
    return BroadcastRuns.count(shapes(), result) >= Math.min(LONG_RUN, longest)
        && BroadcastRuns.calls(shapes(), result)
            <= Math.max(FEW_CALLS, BroadcastRuns.calls(part.shapes(), result));
  }

  /** Writes the results of the last step. */
  void lower(Place result, Shape shape, ProgramBuilder program) {
    int size = steps.getLast().function().isTruth() ? 1 : Float.BYTES;
    int longest = LONGEST / steps.size() / MULTIPLE * MULTIPLE;
    BroadcastRuns.forEach(
        shapes(),
        shape,
        longest,
        block -> {
          List<Source> sources = new ArrayList<>();
          List<Spot> spots = new ArrayList<>();
          for (int i = 0; i < tensors.size(); i++) {
            Run run = block.tensors().get(i);
            sources.add(new Source(run.isRepeated(), run.step()));
            spots.add(tensors.get(i).place().at(run.at() * Float.BYTES));
          }
          spots.add(Function.WRITTEN, result.at(block.result() * size));
          program.call(
              new Chain(sources, steps, block.count()), block.blocks(), spots.toArray(Spot[]::new));
        });
  }
}
