// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.ExecutionResult.OutputInsufficientSize;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Operand;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.call.Answer.Abandoned;
import io.thalamus.runtime.call.Answer.Answered;
import io.thalamus.runtime.call.Cause;
import io.thalamus.runtime.call.StatusMapping;
import io.thalamus.runtime.domain.MemoryBinding;
import io.thalamus.runtime.events.StepEvent;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.plan.PreparedPlan;
import io.thalamus.runtime.plan.PreparedStep;
import io.thalamus.runtime.registry.DeviceBurst;
import io.thalamus.runtime.registry.DevicePreparedModel;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Runs steps on their devices, and where one fails, on another: NNAPI's partial fallback, which
 * resumes at the failed step. Used by the one thread that executes.
 */
final class StepRunner {
  private final ExecutionHost host;
  private final PreparedPlan plan;
  private final ExecutionConfig config;
  private final RunControl control;
  private final StepLog log;
  private final Scratch scratch;
  private final Optional<ReferenceCheck> referenceCheck;

  /** Null where devices are called. */
  private final BurstPlace burst;

  /** Null where nothing is left to another execution. */
  private final Binding binding;

  /** The time of the device in the last attempt, and whether it was taken. */
  private long nanos;

  private boolean isTimed;

  /**
   * A runner for one execution.
   *
   * @param plan by whose times a missed deadline is judged
   * @param isSampled whether what devices answer is compared with the reference
   * @param burst its place in the burst by which devices are sent their steps; null where they are
   *     called
   * @param binding what the execution leaves to the next; null where it leaves nothing
   */
  StepRunner(
      ExecutionHost host,
      PreparedPlan plan,
      ExecutionConfig config,
      RunControl control,
      StepLog log,
      Scratch scratch,
      boolean isSampled,
      BurstPlace burst,
      Binding binding) {
    this.burst = burst;
    this.binding = binding;
    this.referenceCheck =
        isSampled ? Optional.of(new ReferenceCheck(host, config)) : Optional.empty();
    this.scratch = scratch;
    this.host = host;
    this.plan = plan;
    this.config = config;
    this.control = control;
    this.log = log;
  }

  /** Returns what runs several steps of a plan in a row; one after another where it cannot. */
  Optional<ChainRunner> chains(PreparedPlan of) {
    // What is compared with the reference is compared step by step.
    return burst == null && referenceCheck.isEmpty() && of.isGuarded()
        ? Optional.of(new ChainRunner(this, of, config, control, log, scratch))
        : Optional.empty();
  }

  /** Runs a step; its result says whether the whole execution may be repeated. */
  StepResult run(PreparedStep prepared, Frame frame) {
    StepResult first = attempt(prepared, prepared.primary(), frame);
    // A sampled one is executed by copies.
    if (isTimed && first.isDone() && referenceCheck.isEmpty()) {
      prepared.times().add(nanos);
    }
    return finish(prepared, frame, first);
  }

  /**
   * Returns the result of a step, and repeats it elsewhere where it failed.
   *
   * @param first the result of the planned device
   */
  StepResult finish(PreparedStep prepared, Frame frame, StepResult first) {
    ExecutionStep step = prepared.step();
    if (first.isDone() || first.isFinal()) {
      return first;
    }
    StepResult lost = recall(step, frame, first);
    if (lost != null) {
      first.blame(step.device());
      return lost;
    }
    if (!host.isFallbackAllowed()) {
      first.blame(step.device());
      return StepResult.failedForGood(
              first.code(), first.message() + " (this compilation allows no fallback)")
          .withRetryAfter(first.retryAfter());
    }
    // When the reference itself has left, another one may have come in its place.
    if (step.device().isReference() && step.device().isServing()) {
      return first;
    }
    host.onFallback(step, first.message());
    if (first.code() == Cause.DEVICE_TOO_SMALL.code()) {
      host.excludeDevice(step);
    }
    try {
      DevicePreparedModel other =
          prepared.fallback().get(control, () -> host.prepareElsewhere(step, config));
      StepResult second = attempt(prepared, other, frame);
      // A failure that every device has is no fault of the first.
      if (second.isDone()) {
        first.blame(step.device());
      }
      return second;
    } catch (NeuralNetworksException e) {
      StepResult reason = stopped();
      if (reason != null) {
        return reason;
      }
      first.blame(step.device());
      return StepResult.failed(first.code(), first.message() + "; " + e.getMessage())
          .withRetryAfter(first.retryAfter());
    }
  }

  /**
   * Goes on in shared memory with what the step reads and writes in memories of the device.
   *
   * @param failure of the step, whatever it was
   * @return why that is not possible, or null where it is
   */
  private static StepResult recall(ExecutionStep step, Frame frame, StepResult failure) {
    for (int operand : step.inputs()) {
      MemoryBinding use = frame.use(operand);
      if (use != null) {
        try {
          use.recall(false);
        } catch (NeuralNetworksException e) {
          String what = failure.message() + "; " + e.getMessage();
          // What the execution has written itself, it can compute again as a whole.
          return use.isWritten()
              ? StepResult.failed(failure.code(), what)
              : StepResult.failedForGood(e.code(), what);
        }
      }
    }
    for (int operand : step.outputs()) {
      MemoryBinding use = frame.use(operand);
      if (use != null) {
        try {
          use.recall(true);
        } catch (NeuralNetworksException e) {
          return StepResult.failedForGood(e.code(), failure.message() + "; " + e.getMessage());
        }
      }
    }
    return null;
  }

  private StepResult attempt(PreparedStep prepared, DevicePreparedModel model, Frame frame) {
    ExecutionStep step = prepared.step();
    StepResult stopped = stopped();
    if (stopped != null) {
      return stopped;
    }
    boolean isCompared = referenceCheck.isPresent() && !model.device().isReference();
    // The comparison reads the outputs, and keeps the inputs when they differ.
    boolean passesPointers = burst == null && model.device().takesPointers() && !isCompared;
    Request request;
    try {
      request =
          binding == null || isCompared || model != prepared.primary()
              ? RequestBuilder.of(step, frame, true, passesPointers)
              : binding.request(prepared, frame, scratch, passesPointers);
    } catch (NeuralNetworksException e) {
      return StepResult.failedForGood(e.code(), e.getMessage());
    }
    List<Value> room = isCompared ? step.outputs().stream().map(frame::get).toList() : List.of();
    StepEvent event = log.startEvent();
    isTimed =
        event != null
            || config.measureTiming()
            || model != prepared.primary()
            || prepared.times().isDue();
    long waited = control.waitedNanos();
    long start = isTimed ? config.nanoTime() : 0;
    StepMemories memories = StepMemories.of(step, frame);
    Answer<ExecutionResult> answer;
    boolean isByBurst;
    StepResult result;
    memories.begin();
    try {
      answer = byBurst(prepared, model, request, memories);
      isByBurst = answer != null;
      if (!isByBurst) {
        answer = model.execute(request, config, memories.buffers());
      }
      waited = control.waitedNanos() - waited;
      nanos = isTimed ? config.nanoTime() - start - waited : prepared.times().latestNanos();
      if (event != null) {
        event.end();
      }
      if (answer instanceof Abandoned) {
        scratch.renew();
        memories.abandon();
      }
      result = result(step, model, frame, DevicePreparedModel.resultOf(answer));
    } catch (NeuralNetworksException e) {
      return StepResult.failedForGood(e.code(), e.getMessage());
    } finally {
      memories.end();
    }
    Optional<String> objection = Optional.empty();
    if (isCompared && result.isDone() && memories.share(room)) {
      try {
        Request compared = memories.isEmpty() ? request : seen(step, frame, room);
        objection =
            referenceCheck
                .get()
                .objection(prepared, model.device(), frame, compared, room, step.describe());
      } catch (NeuralNetworksException e) {
        return StepResult.failedForGood(e.code(), e.getMessage());
      }
    }
    if (objection.isPresent()) {
      result = nonsense(step, model, "it computed something wrong: " + objection.get());
      setOutputs(step, frame, room);
    }
    Way way = isByBurst ? Way.BY_BURST : Way.CALLED;
    note(step, model.device(), nanos, waited, result, way, event);
    if (config.measureTiming()
        && result.isDone()
        && DevicePreparedModel.resultOf(answer) instanceof Completed completed) {
      log.addMeasured(step, model.device().id(), way, completed.timing(), Timing.NONE);
    }
    return judged(prepared, model.device(), request, answer, result, objection.isPresent());
  }

  /** Notes what a device was asked, and how it ended. */
  void note(
      ExecutionStep step,
      RegisteredDevice device,
      long time,
      long waited,
      StepResult result,
      Way way,
      StepEvent event) {
    int operations = step.operations().size();
    log.add(step, device.id(), operations, time, result.code(), way);
    if (event != null) {
      event.finish(
          device.id(), step.describe(), operations, way == Way.BY_BURST, waited, result.code());
    }
  }

  /**
   * Returns the result of a step as its caller learns it, with what its device can be blamed for.
   *
   * @param isObjected whether the reference computed something else
   */
  StepResult judged(
      PreparedStep prepared,
      RegisteredDevice device,
      Request request,
      Answer<ExecutionResult> answer,
      StepResult result,
      boolean isObjected) {
    if (result.isDone()) {
      return result;
    }
    // A device that was asked to stop says so in its own words; the caller wants the reason.
    StepResult reason = stopped();
    if (reason != null) {
      return reason;
    }
    // A wrong answer is held against the device already, and one that hung too.
    if (answer instanceof Answer.Refused<?> refused && refused.isForLoad()) {
      return overload(prepared, result);
    }
    return (answer instanceof Answered || answer instanceof Answer.Failed)
            && !isObjected
            && reads(device, request)
        ? result.withFault(fault(answer))
        : result;
  }

  /**
   * Returns the failure of a step that the runtime itself refused, since it has too much to do. It
   * is final: elsewhere would be only the next to have too much. A place is free when a step is
   * done.
   */
  private static StepResult overload(PreparedStep prepared, StepResult refusal) {
    Optional<Duration> usual =
        prepared.times().usual().stream()
            .mapToObj(nanos -> Duration.ofNanos((long) nanos))
            .findFirst();
    return refusal.forGood().withRetryAfter(refusal.retryAfter().or(() -> usual));
  }

  /** Executes a step by the burst; returns null if it must be executed synchronously. */
  private Answer<ExecutionResult> byBurst(
      PreparedStep prepared, DevicePreparedModel model, Request request, StepMemories memories) {
    if (burst == null) {
      return null;
    }
    DeviceBurst device = model == prepared.primary() ? burst.on(prepared) : null;
    if (device == null) {
      burst.burst().fellBack("repeated on " + model.device().id());
      return null;
    }
    Answer<ExecutionResult> answer = device.execute(request, config, memories.buffers());
    if (answer == null) {
      burst.burst().fellBack(device.obstacle());
    } else if (!(answer instanceof Answer.Refused)) {
      burst.sent();
    }
    return answer;
  }

  private static ErrorStatus fault(Answer<ExecutionResult> answer) {
    return DevicePreparedModel.resultOf(answer) instanceof Failed failed
        ? failed.status()
        : ErrorStatus.GENERAL_FAILURE;
  }

  /** Returns how a device ended a step, and books what it wrote. */
  StepResult result(
      ExecutionStep step, DevicePreparedModel model, Frame frame, ExecutionResult result) {
    StepResult ended = resultOf(step, model, frame, result);
    return ended.isDone() ? ended : failure(step, frame, ended);
  }

  private StepResult resultOf(
      ExecutionStep step, DevicePreparedModel model, Frame frame, ExecutionResult result) {
    return switch (result) {
      case Completed completed -> completed(step, model, frame, completed);
      case OutputInsufficientSize answer -> insufficient(step, model, frame, answer);
      case Failed failed ->
          StepResult.failed(
                  StatusMapping.toResultCode(failed.status()),
                  step.describe() + " failed on " + model.device().id() + ": " + failed.message())
              .withRetryAfter(failed.retryAfter());
    };
  }

  /** Returns how a step failed: when the caller has closed memory, the device cannot help it. */
  private static StepResult failure(ExecutionStep step, Frame frame, StepResult result) {
    for (List<Integer> side : List.of(step.inputs(), step.outputs())) {
      for (int operand : side) {
        if (frame.get(operand).pool() instanceof CallerPool caller && caller.isClosed()) {
          return StepResult.failedForGood(ResultCode.BAD_DATA, caller.closedMessage());
        }
      }
    }
    return result;
  }

  private static boolean reads(RegisteredDevice device, Request request) {
    List<SharedMemory> memories = new ArrayList<>();
    for (MemoryPool pool : request.pools()) {
      if (pool instanceof MemoryPool.Shared shared) {
        memories.add(shared.memory());
      }
    }
    return device.reads(memories);
  }

  /** Returns the reason why the execution must not go on, or null if it may. */
  StepResult stopped() {
    return switch (control.status()) {
      case CONTINUE -> null;
      case CANCELLED ->
          StepResult.failedForGood(ResultCode.OP_FAILED, "the execution was cancelled");
      case DEADLINE -> StepResult.failed(control.stopCause(plan));
    };
  }

  /** The same with copies of buffers, and with outputs as they were before they were written. */
  private static Request seen(ExecutionStep step, Frame frame, List<Value> room)
      throws NeuralNetworksException {
    List<Value> written = step.outputs().stream().map(frame::get).toList();
    setOutputs(step, frame, room);
    Request request = RequestBuilder.of(step, frame, false, false);
    setOutputs(step, frame, written);
    return request;
  }

  private static void setOutputs(ExecutionStep step, Frame frame, List<Value> values) {
    for (int i = 0; i < values.size(); i++) {
      frame.set(step.outputs().get(i), values.get(i));
    }
  }

  private StepResult completed(
      ExecutionStep step, DevicePreparedModel model, Frame frame, Completed completed) {
    List<Integer> outputs = step.outputs();
    List<OutputShape> shapes = completed.outputs();
    if (!shapes.isEmpty() && shapes.size() != outputs.size()) {
      return nonsense(
          step,
          model,
          "it returned " + shapes.size() + " shapes for " + outputs.size() + " outputs");
    }
    Value[] written = new Value[outputs.size()];
    for (int i = 0; i < outputs.size(); i++) {
      Value value = frame.get(outputs.get(i));
      Operand operand = frame.operand(outputs.get(i));
      if (value.isOmitted() || operand.isSizeKnown()) {
        if (value.use() != null) {
          written[i] = value;
        }
        continue;
      }
      if (shapes.isEmpty()) {
        return nonsense(step, model, "it did not return the shape of output " + i);
      }
      Shape actual = shapes.get(i).shape();
      long bytes = actual.elementCount() * operand.type().elementSize();
      if (!shapes.get(i).isSufficient() || bytes > value.length()) {
        return nonsense(step, model, "it wrote " + bytes + " bytes to room for " + value.length());
      }
      written[i] = value.written(bytes, actual);
    }
    // Only now: where one is nonsense, whoever repeats the step needs the room of all.
    for (int i = 0; i < written.length; i++) {
      if (written[i] != null) {
        frame.set(outputs.get(i), written[i]);
        if (written[i].use() != null) {
          written[i].use().written(written[i].shape());
        }
      }
    }
    log.copies().deviceIn += completed.bytesIn();
    log.copies().deviceOut += completed.bytesOut();
    if (config.measureTiming()) {
      log.add(completed.timing());
    }
    return StepResult.DONE;
  }

  private static StepResult nonsense(ExecutionStep step, DevicePreparedModel model, String what) {
    return StepResult.failed(
        ResultCode.OP_FAILED, step.describe() + " failed on " + model.device().id() + ": " + what);
  }

  /** The outputs of the main graph, as far as the steps until now tell. */
  private static StepResult insufficient(
      ExecutionStep step, DevicePreparedModel model, Frame frame, OutputInsufficientSize answer) {
    List<Integer> graphOutputs = frame.graph().graph().outputIndexes();
    List<OutputShape> shapes = new ArrayList<>();
    StringBuilder missing = new StringBuilder();
    for (int output = 0; output < graphOutputs.size(); output++) {
      int index = graphOutputs.get(output);
      int place = step.outputs().indexOf(index);
      Operand operand = frame.operand(index);
      OutputShape shape =
          place >= 0 && place < answer.outputs().size()
              ? answer.outputs().get(place)
              : new OutputShape(knownShape(frame, index, operand), true);
      shapes.add(shape);
      if (!shape.isSufficient()) {
        missing
            .append(missing.isEmpty() ? "" : ", ")
            .append("output %d '%s' is %s".formatted(output, operand.name(), shape.shape()));
      }
    }
    if (missing.isEmpty() || frame.graph().subgraph() != 0) {
      return nonsense(step, model, "it found a buffer too small, but named none of the caller's");
    }
    return StepResult.insufficient("a buffer is too small: " + missing, shapes);
  }

  private static Shape knownShape(Frame frame, int index, Operand operand) {
    return operand.isSizeKnown() ? operand.shape() : frame.get(index).shape();
  }
}
