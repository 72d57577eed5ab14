// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.plan.PlanBuilder;
import io.thalamus.runtime.plan.PlanNode;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PlanNode.IfNode;
import io.thalamus.runtime.plan.PlanNode.WhileNode;
import io.thalamus.runtime.plan.PreparedPlan;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * Runs the nodes of a plan in order; the interpreter of IF and WHILE. Used by the one thread that
 * executes.
 *
 * <p>The branches of an IF write where the IF itself does. A WHILE has two places for each value of
 * its state: a round reads one and writes the other. When it ends, the values are copied out.
 */
final class PlanRunner {
  private final PreparedPlan plan;
  private final StepRunner steps;

  /** Null where no step waits for a fence. */
  private final ChainRunner chains;

  private final StepLog log;
  private final ExecutionConfig config;

  PlanRunner(PreparedPlan plan, StepRunner steps, StepLog log, ExecutionConfig config) {
    this.plan = plan;
    this.steps = steps;
    this.chains = steps.chains(plan).orElse(null);
    this.log = log;
    this.config = config;
  }

  StepResult run(Frame frame) {
    List<PlanNode> nodes = frame.graph().nodes();
    for (int i = 0; i < nodes.size(); i++) {
      int length = chains == null ? 0 : chains.length(nodes, i, frame);
      StepResult result;
      if (length > 1) {
        result = chains.run(nodes.subList(i, i + length), frame);
        i += chains.done() - 1;
      } else {
        result =
            switch (nodes.get(i)) {
              case ExecutionStep step -> steps.run(plan.step(step.index()), frame);
              case IfNode branch -> run(branch, frame);
              case WhileNode loop -> run(loop, frame);
            };
      }
      if (!result.isDone()) {
        return result;
      }
    }
    return StepResult.DONE;
  }

  private StepResult run(IfNode node, Frame outer) {
    long start = config.nanoTime();
    Value condition = outer.get(node.condition());
    if (condition.isOmitted()) {
      return StepResult.failedForGood(ResultCode.BAD_DATA, "the condition of an IF is left out");
    }
    Frame branch = outer.inner(isTrue(condition) ? node.thenGraph() : node.elseGraph());
    branch.setAll(branch.graph().graph().inputIndexes(), outer, node.arguments());
    branch.setAll(branch.graph().graph().outputIndexes(), outer, node.outputs());
    note(node, start);
    return run(branch);
  }

  private StepResult run(WhileNode node, Frame outer) {
    long loopStart = config.nanoTime();
    Frame first = outer.inner(node.body());
    List<Integer> bodyOutputs = node.body().graph().outputIndexes();
    Value[] state = new Value[node.inputs().size()];
    for (int i = 0; i < state.length; i++) {
      state[i] = outer.get(node.inputs().get(i));
    }
    for (long round = 0; ; round++) {
      Frame condition = outer.inner(node.condition());
      setInputs(condition, state);
      StepResult result = run(condition);
      if (!result.isDone()) {
        return result;
      }
      if (!isTrue(condition.get(node.condition().graph().outputIndexes().get(0)))) {
        break;
      }
      if (config.isLoopOverdue(loopStart)) {
        return StepResult.failed(
            Cause.LOOP_OVERDUE.code(),
            "WHILE (operation %d) still loops after %d ms"
                .formatted(node.operation(), config.loopTimeout().toMillis()));
      }
      Frame body = outer.inner(node.body());
      setInputs(body, state);
      for (int output : bodyOutputs) {
        body.set(output, round % 2 == 0 ? first.get(output) : first.second(output));
      }
      result = run(body);
      if (!result.isDone()) {
        return result;
      }
      for (int i = 0; i < bodyOutputs.size(); i++) {
        state[i] = body.get(bodyOutputs.get(i));
      }
    }
    long copyStart = config.nanoTime();
    copyOut(node, outer, state);
    note(node, copyStart);
    return StepResult.DONE;
  }

  private static void setInputs(Frame frame, Value[] state) {
    List<Integer> inputs = frame.graph().graph().inputIndexes();
    for (int i = 0; i < inputs.size(); i++) {
      frame.set(inputs.get(i), state[i]);
    }
  }

  private void copyOut(WhileNode node, Frame outer, Value[] state) {
    for (int i = 0; i < node.outputs().size(); i++) {
      Value to = outer.get(node.outputs().get(i));
      if (!to.isOmitted()) {
        MemorySegment.copy(state[i].bytes(), 0, to.bytes(), 0, to.length());
        log.copies().temporaries += to.length();
      }
    }
  }

  private static boolean isTrue(Value value) {
    return value.pool().segment().get(ValueLayout.JAVA_BYTE, value.offset()) != 0;
  }

  private void note(PlanNode node, long start) {
    log.add(
        node,
        PlanBuilder.INTERPRETER,
        1,
        config.nanoTime() - start,
        ResultCode.NO_ERROR,
        Way.CALLED);
  }
}
