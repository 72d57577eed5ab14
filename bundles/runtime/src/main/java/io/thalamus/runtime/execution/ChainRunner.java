// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.Request;
import io.thalamus.model.ErrorStatus;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.events.StepEvent;
import io.thalamus.runtime.plan.PlanNode;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.plan.PreparedStep;
import io.thalamus.runtime.registry.DevicePreparedModel;
import io.thalamus.runtime.registry.FencedChain;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs steps in a row as one chain, in which a device that is done signals the fence of the next.
 * The step that fails is repeated as any other, and those behind it are not done. Used by the one
 * thread that executes.
 */
final class ChainRunner {
  private final StepRunner steps;
  private final PreparedPlan plan;
  private final ExecutionConfig config;
  private final RunControl control;
  private final StepLog log;
  private final Scratch scratch;
  private int done;

  /** A runner of the steps of a plan. */
  ChainRunner(
      StepRunner steps,
      PreparedPlan plan,
      ExecutionConfig config,
      RunControl control,
      StepLog log,
      Scratch scratch) {
    this.steps = steps;
    this.plan = plan;
    this.config = config;
    this.control = control;
    this.log = log;
    this.scratch = scratch;
  }

  /** Returns how many nodes from one on can run as a chain; 0 where none can. */
  int length(List<PlanNode> nodes, int from, Frame frame) {
    int end = from;
    while (end < nodes.size() && canWait(nodes.get(end), frame)) {
      end++;
    }
    return end - from;
  }

  /**
   * Returns whether a step can be given to its device before its inputs are there: the device waits
   * for a fence, the places of all arguments are known, and none is a memory on a device, whose
   * contents move when a step fails.
   */
  private boolean canWait(PlanNode node, Frame frame) {
    if (!(node instanceof ExecutionStep step) || !step.device().takesFences()) {
      return false;
    }
    for (int i = 0; i < step.inputs().size(); i++) {
      if (frame.use(step.inputs().get(i)) != null) {
        return false;
      }
    }
    for (int i = 0; i < step.outputs().size(); i++) {
      int output = step.outputs().get(i);
      boolean isOpen = !frame.operand(output).isSizeKnown() && !frame.get(output).isOmitted();
      if (isOpen || frame.use(output) != null) {
        return false;
      }
    }
    return true;
  }

  /** Returns how many steps of the latest run are done. */
  int done() {
    return done;
  }

  /** The time of one link on its device, and the event of it. */
  private final class Timed implements FencedChain.Progress {
    private StepEvent event;
    private long startNanos;
    private long waitedNanos;
    private long nanos;

    @Override
    public void begins(long now) {
      event = log.startEvent();
      startNanos = now;
      waitedNanos = control.waitedNanos();
    }

    @Override
    public void ends(long now) {
      waitedNanos = control.waitedNanos() - waitedNanos;
      nanos = now - startNanos - waitedNanos;
      if (event != null) {
        event.end();
      }
    }
  }

  private record Step(PreparedStep prepared, Request request, Timed timed, FencedChain.Link link) {
    DevicePreparedModel model() {
      return prepared.primary();
    }

    RegisteredDevice device() {
      return model().device();
    }
  }

  /**
   * Runs steps as a chain.
   *
   * @return the result of the last one that is done, or of the one that failed
   */
  StepResult run(List<PlanNode> nodes, Frame frame) {
    done = 0;
    StepResult stopped = steps.stopped();
    if (stopped != null) {
      return stopped;
    }
    // What a device computes while others do is known to it alone.
    FencedChain chain = new FencedChain(config.withMeasureTiming(true));
    List<Step> all = new ArrayList<>(nodes.size());
    try {
      for (PlanNode node : nodes) {
        ExecutionStep step = (ExecutionStep) node;
        PreparedStep prepared = plan.step(step.index());
        Request request = RequestBuilder.of(step, frame, true, false);
        Timed timed = new Timed();
        all.add(new Step(prepared, request, timed, chain.add(prepared.primary(), request, timed)));
      }
    } catch (NeuralNetworksException e) {
      return StepResult.failedForGood(e.code(), e.getMessage());
    }
    List<Step> run = all.subList(0, chain.run());
    for (Step step : run) {
      if (step.link().isAbandoned()) {
        scratch.renew();
      }
    }
    StepResult result = StepResult.DONE;
    while (done < run.size() && result.isDone()) {
      result = ended(run.get(done), done > 0, frame);
      if (result.isDone()) {
        done++;
      }
    }
    if (!result.isDone()) {
      Step failed = run.get(done++);
      blame(run.subList(done, run.size()));
      result = steps.finish(failed.prepared(), frame, result);
    }
    return result;
  }

  /** Reports the devices that did not wait, though the work before theirs had failed. */
  private static void blame(List<Step> behind) {
    for (Step step : behind) {
      if (step.link().isUnruly()) {
        step.device()
            .monitor()
            .failed(ErrorStatus.GENERAL_FAILURE, "it executed though its fence had failed");
      }
    }
  }

  private StepResult ended(Step step, boolean isFenced, Frame frame) {
    Answer<ExecutionResult> answer = step.link().answer();
    ExecutionStep planned = step.prepared().step();
    ExecutionResult given = DevicePreparedModel.resultOf(answer);
    StepResult result = steps.result(planned, step.model(), frame, given);
    Timed timed = step.timed();
    Way way = isFenced ? Way.FENCED : Way.CALLED;
    steps.note(planned, step.device(), timed.nanos, timed.waitedNanos, result, way, timed.event);
    if (isFenced && result.isDone() && given instanceof Completed completed) {
      log.addMeasured(planned, step.device().id(), way, step.link().launched(), completed.timing());
    }
    if (result.isDone()) {
      step.prepared().times().add(timed.nanos);
      return result;
    }
    return steps.judged(step.prepared(), step.device(), step.request(), answer, result, false);
  }
}
