// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.vectors.RunOptions.Mode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs examples on a device itself, without the runtime. Devices have no asynchronous call.
 * Thread-safe.
 */
public final class DeviceTarget implements Target {
  /** Longer than any example may take; only a fence that is lost makes anyone wait for it. */
  private static final Duration FENCE_LIMIT = Duration.ofMinutes(2);

  private final Device device;
  private final PrepareConfig config;

  /** A target that prepares as usual. */
  public DeviceTarget(Device device) {
    this(device, PrepareConfig.DEFAULT);
  }

  /** A target that prepares with these settings. */
  public DeviceTarget(Device device, PrepareConfig config) {
    this.device = Objects.requireNonNull(device, "device");
    this.config = Objects.requireNonNull(config, "config");
  }

  @Override
  public String name() {
    return "device " + device.info().name();
  }

  @Override
  public Set<Mode> modes() {
    return EnumSet.of(Mode.SYNC, Mode.FENCED);
  }

  @Override
  public BitSet supportedOperations(Model model) throws Refusal {
    try {
      return device.supportedOperations(model);
    } catch (DeviceException e) {
      throw refusal(e);
    }
  }

  @Override
  public Prepared prepare(Model model) throws Refusal {
    try {
      return new PreparedOnDevice(device.prepare(model, config));
    } catch (DeviceException e) {
      throw refusal(e);
    }
  }

  private static Refusal refusal(DeviceException e) {
    return new Refusal(status(e.status()), e.status() + ": " + e.getMessage(), e);
  }

  private static Status status(ErrorStatus status) {
    return switch (status) {
      case NONE -> Status.DONE;
      case OUTPUT_INSUFFICIENT_SIZE -> Status.OUTPUT_INSUFFICIENT_SIZE;
      case INVALID_ARGUMENT -> Status.REFUSED;
      case MISSED_DEADLINE_TRANSIENT, MISSED_DEADLINE_PERSISTENT -> Status.MISSED_DEADLINE;
      case DEVICE_UNAVAILABLE,
          GENERAL_FAILURE,
          RESOURCE_EXHAUSTED_TRANSIENT,
          RESOURCE_EXHAUSTED_PERSISTENT ->
          Status.FAILED;
    };
  }

  /** Returns arguments as a request: the inputs in pool 0, the outputs in pool 1. */
  public static Request request(Arguments arguments) {
    return new Request(
        places(0, arguments.inputs()),
        places(1, arguments.outputs()),
        List.of(
            new MemoryPool.Shared(arguments.inputMemory()),
            new MemoryPool.Shared(arguments.outputMemory())));
  }

  private static List<Request.Argument> places(int pool, List<Range> ranges) {
    List<Request.Argument> places = new ArrayList<>();
    for (Range range : ranges) {
      places.add(
          range.isEmpty()
              ? Request.Argument.NO_VALUE
              : new Request.Location(pool, range.offset(), range.length(), range.shape()));
    }
    return places;
  }

  private record PreparedOnDevice(PreparedModel prepared) implements Prepared {
    @Override
    public Answer execute(Arguments arguments, Settings settings) {
      Request request = request(arguments);
      ExecutionConfig config =
          ExecutionConfig.DEFAULT
              .withMeasureTiming(settings.measureTiming())
              .withLoopTimeout(settings.loopTimeout());
      return settings.mode() == Mode.FENCED
          ? fenced(request, config)
          : answer(prepared.execute(request, config));
    }

    private Answer fenced(Request request, ExecutionConfig config) {
      try {
        FencedExecution execution =
            prepared.executeFenced(request, List.of(SyncFence.signalled()), config);
        execution.syncFence().future().get(FENCE_LIMIT.toSeconds(), TimeUnit.SECONDS);
        return answer(execution.executionInfo().get().result());
      } catch (DeviceException e) {
        return failed(e);
      } catch (ExecutionException e) {
        return e.getCause() instanceof DeviceException cause
            ? failed(cause)
            : Answer.failed(Status.FAILED, "the fence failed with " + e.getCause());
      } catch (TimeoutException e) {
        return Answer.failed(Status.FAILED, "the fence did not signal within " + FENCE_LIMIT);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return Answer.failed(Status.FAILED, "interrupted while waiting for the fence");
      }
    }

    private static Answer failed(DeviceException e) {
      return Answer.failed(status(e.status()), e.status() + ": " + e.getMessage());
    }

    private static Answer answer(ExecutionResult result) {
      return switch (result) {
        case ExecutionResult.Completed completed ->
            Answer.done(completed.outputs(), completed.timing());
        case ExecutionResult.OutputInsufficientSize insufficient ->
            Answer.insufficient(insufficient.outputs());
        case ExecutionResult.Failed failed ->
            Answer.failed(status(failed.status()), failed.status() + ": " + failed.message());
      };
    }

    @Override
    public void close() {
      prepared.close();
    }
  }
}
