// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.partition;

import io.thalamus.model.Lifetime.SubgraphOutput;
import io.thalamus.model.Lifetime.TemporaryVariable;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;

/**
 * The operations of a graph whose inputs are computed, by the queue they were assigned to. The
 * highest queue that is not empty is drained first, and what becomes ready meanwhile joins its
 * queue: so steps are as large as possible. Not thread-safe.
 */
final class ReadyQueues {
  private final Subgraph graph;
  private final int[] queueOf;
  private final List<Queue<Integer>> queues = new ArrayList<>();
  private final Map<Integer, List<Integer>> readers = new HashMap<>();
  private final int[] missing;
  private int processed;

  /**
   * Queues for a graph.
   *
   * @param queueOf the queue of each operation, in [0, count)
   */
  ReadyQueues(Subgraph graph, int[] queueOf, int count) {
    this.graph = graph;
    this.queueOf = queueOf;
    this.missing = new int[queueOf.length];
    for (int i = 0; i < count; i++) {
      queues.add(new ArrayDeque<>());
    }
    for (int operation = 0; operation < queueOf.length; operation++) {
      for (int operand : graph.operations().get(operation).inputs()) {
        if (isComputed(graph.operands().get(operand))) {
          missing[operation]++;
          readers.computeIfAbsent(operand, key -> new ArrayList<>()).add(operation);
        }
      }
      if (missing[operation] == 0) {
        queues.get(queueOf[operation]).add(operation);
      }
    }
  }

  private static boolean isComputed(Operand operand) {
    return operand.lifetime() instanceof TemporaryVariable
        || operand.lifetime() instanceof SubgraphOutput;
  }

  /** The highest queue that is not empty, or -1 where all are. */
  int highest() {
    for (int queue = queues.size() - 1; queue >= 0; queue--) {
      if (!queues.get(queue).isEmpty()) {
        return queue;
      }
    }
    return -1;
  }

  /** Takes the next operation of a queue and makes ready what waited for it; -1 for none. */
  int take(int queue) {
    Integer operation = queues.get(queue).poll();
    if (operation == null) {
      return -1;
    }
    processed++;
    Operation taken = graph.operations().get(operation);
    for (int operand : taken.outputs()) {
      for (int reader : readers.getOrDefault(operand, List.of())) {
        if (--missing[reader] == 0) {
          queues.get(queueOf[reader]).add(reader);
        }
      }
    }
    return operation;
  }

  /** Whether every operation was taken; what was not waits for an operand that nobody writes. */
  boolean isComplete() {
    return processed == queueOf.length;
  }
}
