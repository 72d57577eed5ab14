// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.integration.proof.Figures;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Priority;
import io.thalamus.model.Subgraph;
import io.thalamus.npu.NpuActivity;
import io.thalamus.npu.NpuConfig;
import io.thalamus.npu.NpuDevice;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.tflite.TfliteReader;
import io.thalamus.vectors.ModelDirectory;
import java.util.concurrent.FutureTask;

/**
 * The work of the accelerator while the last model runs with LOW all the time and the first comes
 * with HIGH now and then: the work of the device by its own report.
 *
 * @param search says where the models are
 */
record NpuPreemption(NpuSearch search) {
  private static final int TILINGS = 16;
  private static final int URGENT = 100;
  private static final int PAUSE_MILLIS = 20;

  void run(Figures figures) throws Exception {
    if (search.folder().isEmpty()) {
      figures.figure("preemption", "skipped, since there is no folder shared/models");
      return;
    }
    NpuConfig config = NpuConfig.standard().withSearch(TILINGS, true, search.seed());
    try (NpuDevice device = new NpuDevice("0.1.0", config)) {
      try (Loaded urgent = load(device, search.models().getFirst(), Priority.HIGH);
          Loaded low = load(device, search.models().getLast(), Priority.LOW)) {
        FutureTask<Integer> background = new FutureTask<>(low::repeat);
        Thread thread = Thread.ofPlatform().name("thalamus-low").start(background);
        try (TestRequest request = TestRequest.of(urgent.graph)) {
          for (int i = 0; i < URGENT; i++) {
            Thread.sleep(PAUSE_MILLIS);
            urgent.execute(request);
          }
        } finally {
          thread.interrupt();
        }
        figures.figure("preemption.low.executions", background.get());
      }
      NpuActivity activity = device.activity();
      System.out.printf("%n%s%n", activity);
      long count = activity.resumed() + activity.restarted();
      figures.figure("preemption.resumed", activity.resumed());
      figures.figure("preemption.restarted", activity.restarted());
      figures.figure("preemption.context.micros", activity.contextNanos() / 1000.0);
      figures.figure("preemption.lost.micros", activity.lostNanos() / 1000.0);
      figures.promise(
          "each urgent execution puts a low one aside once at most", count > 0 && count <= URGENT);
    }
  }

  private Loaded load(NpuDevice device, String name, Priority priority) throws Exception {
    ModelDirectory directory = ModelDirectory.read(search.folder().get().resolve(name));
    try (SharedMemory file = SharedMemory.map(directory.model())) {
      Model model = new TfliteReader().read(file).model();
      return new Loaded(device.prepare(model, PrepareConfig.DEFAULT.with(priority)), model.main());
    }
  }

  /** A prepared model with the graph that its requests name. */
  private record Loaded(PreparedModel prepared, Subgraph graph) implements AutoCloseable {
    /** Executes until it is interrupted, and returns how often. */
    int repeat() {
      int executions = 0;
      try (TestRequest request = TestRequest.of(graph)) {
        while (!Thread.currentThread().isInterrupted()) {
          execute(request);
          executions++;
        }
      }
      return executions;
    }

    void execute(TestRequest request) {
      if (!(prepared.execute(request.request(), ExecutionConfig.DEFAULT) instanceof Completed)) {
        throw new IllegalStateException("an execution failed");
      }
    }

    @Override
    public void close() {
      prepared.close();
    }
  }
}
