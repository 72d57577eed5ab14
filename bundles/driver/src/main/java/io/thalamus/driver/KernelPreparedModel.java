// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.DeviceInfo;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Timing;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;

/** A program with the memory it runs in. Closed memory is given back when the last run ends. */
final class KernelPreparedModel implements PreparedModel {
  private final GraphProgram program;
  private final DeviceInfo info;
  private final FramePool frames;
  private final List<SharedMemory.Lease> constants;

  KernelPreparedModel(Model model, GraphProgram program, DeviceInfo info) {
    this.program = program;
    this.info = info;
    this.constants = model.pools().stream().map(SharedMemory::lend).toList();
    this.frames = new FramePool(program, () -> this.constants.forEach(SharedMemory.Lease::close));
  }

  @Override
  public ExecutionResult execute(Request request, ExecutionConfig config) {
    long start = System.nanoTime();
    RequestArguments arguments;
    try {
      arguments = RequestArguments.of(program.graph(), request, info);
    } catch (DeviceException e) {
      return new Failed(e.status(), e.getMessage());
    }
    if (config.deadline().hasPassed()) {
      return new Failed(
          ErrorStatus.MISSED_DEADLINE_PERSISTENT, "the deadline passed before the execution");
    }
    Frame frame = frames.take();
    if (frame == null) {
      return new Failed(ErrorStatus.GENERAL_FAILURE, "the prepared model is closed");
    }
    List<SharedMemory.Lease> leases = new ArrayList<>();
    try {
      for (MemoryPool pool : request.pools()) {
        leases.add(((MemoryPool.Shared) pool).memory().lend());
      }
      return new GraphExecution(program, frame, arguments, config, start).run();
    } finally {
      leases.forEach(SharedMemory.Lease::close);
      frames.giveBack(frame);
    }
  }

  @Override
  public FencedExecution executeFenced(
      Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
    long launched = System.nanoTime();
    RequestArguments.of(program.graph(), request, info).requireKnownOutputs(program);
    for (SyncFence fence : waitFor) {
      if (fence == null) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "a fence to wait for is null");
      }
    }
    for (SyncFence fence : waitFor) {
      try {
        fence.future().join();
      } catch (CompletionException e) {
        throw new DeviceException(
            ErrorStatus.GENERAL_FAILURE, "a fence that was waited for has failed", e);
      }
    }
    Deadline deadline =
        config
            .duration()
            .map(duration -> config.deadline().earlier(Deadline.after(duration)))
            .orElse(config.deadline());
    long fenced = System.nanoTime();
    ExecutionResult result = execute(request, config.with(deadline));
    if (result instanceof Failed failed) {
      throw new DeviceException(failed.status(), failed.message());
    }
    if (result instanceof ExecutionResult.OutputInsufficientSize) {
      throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "an output buffer is too small");
    }
    FencedExecution.Info outcome =
        config.measureTiming()
            ? new FencedExecution.Info(
                result, GraphExecution.since(launched), GraphExecution.since(fenced))
            : new FencedExecution.Info(result, Timing.NONE, Timing.NONE);
    return new FencedExecution(SyncFence.signalled(), () -> outcome);
  }

  @Override
  public void close() {
    frames.close();
  }
}
