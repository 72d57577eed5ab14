// SPDX-License-Identifier: Apache-2.0
package io.thalamus.benchmarks.engine;

import io.thalamus.api.Burst;
import io.thalamus.api.BurstOptions;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** The ways from an application to the kernels of a device. */
enum Way {
  /** As applications execute. */
  RUNTIME("", false, null) {
    @Override
    Running open(
        Container container,
        String device,
        Model model,
        Tensors tensors,
        CompilationOptions compiled)
        throws Exception {
      NeuralNetworks networks = container.service(NeuralNetworks.class, "(objectClass=*)");
      Compilation compilation = networks.compile(model, compiled);
      return new Running() {
        private ExecutionReport report;

        @Override
        public void run() throws Exception {
          report = tensors.set(compilation.createExecution()).compute().orThrow();
        }

        @Override
        public String note() {
          return steps(report);
        }

        @Override
        public void close() {
          compilation.close();
        }
      };
    }
  },
  /** As applications execute by burst. */
  BURST("-burst", false, BurstOptions.DEFAULT),
  /** By a burst that takes two at once, and so is served by a thread of its own. */
  LISTENER("-listener", false, BurstOptions.DEFAULT.withDepth(2)),
  /** By burst, with the device in a process of its own. */
  ISOLATED("-isolated", true, BurstOptions.DEFAULT),
  /** The same without polling. */
  ISOLATED_SLEEPING("-isolated-sleeping", true, BurstOptions.DEFAULT.withPollWindow(Duration.ZERO)),
  /**
   * Nothing but the driver, with one request that is used again and again: as near to the bare
   * kernels as one can get from outside. Only for models that the device executes alone.
   */
  DRIVER("-driver", false, null) {
    @Override
    Running open(
        Container container,
        String device,
        Model model,
        Tensors tensors,
        CompilationOptions compiled)
        throws Exception {
      PreparedModel prepared =
          container
              .service(Device.class, "(thalamus.device=" + device + ")")
              .prepare(model, PrepareConfig.DEFAULT);
      Request request = tensors.request();
      return new Running() {
        @Override
        public void run() {
          ExecutionResult result = prepared.execute(request, ExecutionConfig.DEFAULT);
          if (!(result instanceof ExecutionResult.Completed)) {
            throw new IllegalStateException(result.toString());
          }
        }

        @Override
        public String note() {
          return "the driver of " + device + " alone";
        }

        @Override
        public void close() {
          prepared.close();
        }
      };
    }
  };

  private final String suffix;
  private final boolean isIsolated;

  /** Null where there is no burst. */
  private final BurstOptions options;

  Way(String suffix, boolean isIsolated, BurstOptions options) {
    this.suffix = suffix;
    this.isIsolated = isIsolated;
    this.options = options;
  }

  /** Returns what the names of engines end with. */
  String suffix() {
    return suffix;
  }

  /** Returns whether the device has a process of its own. */
  boolean isIsolated() {
    return isIsolated;
  }

  /**
   * Makes a model ready to run.
   *
   * @param compiled how the runtime compiles it
   * @throws Exception whatever the runtime or the device objects to
   */
  Running open(
      Container container, String device, Model model, Tensors tensors, CompilationOptions compiled)
      throws Exception {
    NeuralNetworks networks = container.service(NeuralNetworks.class, "(objectClass=*)");
    Compilation compilation = networks.compile(model, compiled);
    Burst burst = compilation.createBurst(options);
    return new Running() {
      private ExecutionReport report;

      @Override
      public void run() throws Exception {
        report = tensors.set(compilation.createExecution()).burstCompute(burst).orThrow();
      }

      @Override
      public String note() {
        return steps(report) + "; " + burst.describe();
      }

      @Override
      public void close() {
        burst.close();
        compilation.close();
      }
    };
  }

  private static String steps(ExecutionReport report) {
    return report.steps().stream()
        .map(step -> step.operations() + " on " + step.device())
        .collect(Collectors.joining(", "));
  }

  /** A model that is ready to run. Used by one thread; owned by whoever opened it. */
  interface Running extends AutoCloseable {
    void run() throws Exception;

    String note();

    @Override
    void close();
  }

  /** The arguments of all executions, which others own. */
  record Tensors(List<SharedMemory> inputs, List<SharedMemory> outputs) {
    private Execution set(Execution execution) {
      for (int i = 0; i < inputs.size(); i++) {
        SharedMemory memory = inputs.get(i);
        execution.setInput(i, memory, 0, memory.size(), Shape.NONE);
      }
      for (int i = 0; i < outputs.size(); i++) {
        SharedMemory memory = outputs.get(i);
        execution.setOutput(i, memory, 0, memory.size(), Shape.NONE);
      }
      return execution;
    }

    private Request request() {
      List<MemoryPool> pools = new ArrayList<>();
      return new Request(locations(inputs, pools), locations(outputs, pools), pools);
    }

    private static List<Request.Argument> locations(
        List<SharedMemory> memories, List<MemoryPool> pools) {
      List<Request.Argument> arguments = new ArrayList<>();
      for (SharedMemory memory : memories) {
        arguments.add(new Request.Location(pools.size(), 0, memory.size(), Shape.NONE));
        pools.add(new MemoryPool.Shared(memory));
      }
      return arguments;
    }
  }
}
