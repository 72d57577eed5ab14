// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.proof;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The devices that answered requests, and the first answer of each: all later ones must be the
 * same, and so must a replay be. Thread-safe.
 */
final class Assignments {
  private final List<Workload> workloads;
  private final ConcurrentMap<Assignment, List<byte[]>> answers = new ConcurrentHashMap<>();
  private final AtomicLong differing = new AtomicLong();

  Assignments(List<Workload> workloads) {
    this.workloads = workloads;
  }

  /**
   * The way to an answer: the steps that succeeded.
   *
   * @param workload its index
   * @param request which of its requests
   */
  private record Assignment(int workload, int request, List<Part> parts) {
    /** The devices, each once, in the order of their steps. */
    List<String> devices() {
      return parts.stream().map(Part::device).distinct().toList();
    }
  }

  /** So many operations at once on a device. */
  private record Part(String device, int operations) {}

  private static List<Part> parts(ExecutionReport report) {
    return report.steps().stream()
        .filter(step -> step.code() == ResultCode.NO_ERROR)
        .map(step -> new Part(step.device(), step.operations()))
        .toList();
  }

  /** Compares the answer to a request with the first one of the same assignment. */
  void add(int workload, int request, ExecutionReport report, List<byte[]> outputs) {
    Assignment assignment = new Assignment(workload, request, parts(report));
    List<byte[]> first = answers.putIfAbsent(assignment, outputs);
    if (first != null && !equal(first, outputs)) {
      differing.incrementAndGet();
    }
  }

  /** Answers that differ from the first one of the same assignment. */
  long differing() {
    return differing.get();
  }

  /** The numbers of replayed results, and the differences. */
  record Replays(int same, int different, List<String> notReplayable) {}

  /**
   * Executes again, on exactly the devices that answered, one request of each assignment.
   *
   * @throws NeuralNetworksException where a device is not here
   */
  Replays replay() throws NeuralNetworksException {
    int same = 0;
    int different = 0;
    List<String> notReplayable = new ArrayList<>();
    for (Map.Entry<Assignment, List<byte[]>> each : answers.entrySet()) {
      Assignment assignment = each.getKey();
      Workload workload = workloads.get(assignment.workload());
      CompilationOptions exactly =
          CompilationOptions.DEFAULT
              .withDevices(assignment.devices())
              .with(CompilationOptions.Fallback.DENY);
      try (Compilation compilation = workload.compile(exactly)) {
        List<byte[]> outputs = workload.buffers();
        ExecutionReport report =
            workload
                .execution(compilation, workload.input(assignment.request()), outputs)
                .compute();
        if (!report.isSuccess() || !parts(report).equals(assignment.parts())) {
          notReplayable.add(assignment.parts() + ": " + report.code() + " " + report.steps());
        } else if (equal(outputs, each.getValue())) {
          same++;
        } else {
          different++;
        }
      }
    }
    return new Replays(same, different, notReplayable);
  }

  private static boolean equal(List<byte[]> some, List<byte[]> others) {
    for (int i = 0; i < some.size(); i++) {
      if (!Arrays.equals(some.get(i), others.get(i))) {
        return false;
      }
    }
    return true;
  }
}
