// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.search;

import io.thalamus.model.Lifetime.TemporaryVariable;
import io.thalamus.model.Operand;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import io.thalamus.runtime.policy.PartitionPolicy;
import io.thalamus.runtime.policy.PartitionProblem;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A problem as numbers. Immutable; its arrays are shared for speed and only read.
 *
 * <p>A choice is the index of a candidate, or the number of candidates for the interpreter. A value
 * is what one operation writes or a caller gives, where some operation reads it or it is returned;
 * constants are none, since every step brings its own.
 */
final class GraphCosts {
  final int operations;
  final int choices;

  /** By choice and operation; infinite where the choice is not allowed. */
  final double[][] nanos;

  /** By choice and operation. */
  final double[][] energy;

  /** By choice. */
  final double[] startNanos;

  /** By choice. */
  final double[] byteNanos;

  /** By value: the operation that writes it, or -1. */
  final int[] writer;

  /** By value: the operations that read it, each once. */
  final int[][] readers;

  final long[] bytes;

  /** By value: whether it is returned to the caller. */
  final boolean[] isReturned;

  /** By value: whether it may go from one step to another. */
  final boolean[] canCross;

  /** By operation: the values that it reads, each once. */
  final int[][] reads;

  /** By operation: the values that it writes. */
  final int[][] writes;

  /**
   * The numbers of a problem.
   *
   * @param fixed what control flow is given to, which is not searched
   */
  GraphCosts(PartitionProblem problem, int[] fixed) {
    Subgraph graph = problem.graph();
    operations = graph.operations().size();
    int candidates = problem.candidates().size();
    choices = candidates + 1;
    nanos = new double[choices][operations];
    energy = new double[choices][operations];
    startNanos = new double[choices];
    byteNanos = new double[choices];
    for (int choice = 0; choice < candidates; choice++) {
      startNanos[choice] = problem.startNanos(choice);
      byteNanos[choice] = problem.transferNanos(choice, 1L << 20) / (1 << 20);
      for (int operation = 0; operation < operations; operation++) {
        boolean isAllowed =
            problem.isControlFlow(operation)
                ? fixed[operation] == choice
                : problem.supports(choice, operation);
        nanos[choice][operation] =
            isAllowed ? problem.expectedNanos(choice, operation) : Double.POSITIVE_INFINITY;
        energy[choice][operation] = isAllowed ? problem.expectedEnergy(choice, operation) : 0;
      }
    }
    for (int operation = 0; operation < operations; operation++) {
      nanos[candidates][operation] =
          fixed[operation] == PartitionPolicy.INTERPRETER ? 0 : Double.POSITIVE_INFINITY;
    }
    int operands = graph.operands().size();
    int[] valueOf = new int[operands];
    Arrays.fill(valueOf, -1);
    int values = 0;
    for (int operand : graph.inputIndexes()) {
      valueOf[operand] = values++;
    }
    for (Operation operation : graph.operations()) {
      for (int operand : operation.outputs()) {
        valueOf[operand] = values++;
      }
    }
    writer = new int[values];
    Arrays.fill(writer, -1);
    readers = new int[values][];
    bytes = new long[values];
    isReturned = new boolean[values];
    canCross = new boolean[values];
    reads = new int[operations][];
    writes = new int[operations][];
    fill(problem, graph, valueOf);
  }

  private void fill(PartitionProblem problem, Subgraph graph, int[] valueOf) {
    List<List<Integer>> readersOf = new ArrayList<>();
    for (int value = 0; value < writer.length; value++) {
      readersOf.add(new ArrayList<>());
    }
    for (int operation = 0; operation < operations; operation++) {
      Operation given = graph.operations().get(operation);
      reads[operation] =
          given.inputs().stream()
              .mapToInt(operand -> valueOf[operand])
              .filter(value -> value >= 0)
              .distinct()
              .toArray();
      for (int value : reads[operation]) {
        readersOf.get(value).add(operation);
      }
      writes[operation] = given.outputs().stream().mapToInt(operand -> valueOf[operand]).toArray();
      for (int value : writes[operation]) {
        writer[value] = operation;
      }
    }
    for (int operand = 0; operand < valueOf.length; operand++) {
      int value = valueOf[operand];
      if (value >= 0) {
        Operand given = graph.operands().get(operand);
        readers[value] = readersOf.get(value).stream().mapToInt(Integer::intValue).toArray();
        bytes[value] = problem.bytes(operand);
        canCross[value] = given.isSizeKnown() || !(given.lifetime() instanceof TemporaryVariable);
      }
    }
    for (int operand : graph.outputIndexes()) {
      if (valueOf[operand] >= 0) {
        isReturned[valueOf[operand]] = true;
      }
    }
  }

  /** Returns whether every value is written before it is read. */
  boolean isOrdered() {
    for (int operation = 0; operation < operations; operation++) {
      for (int value : reads[operation]) {
        if (writer[value] >= operation) {
          return false;
        }
      }
    }
    return true;
  }

  boolean isAllowed(int choice, int operation) {
    return nanos[choice][operation] != Double.POSITIVE_INFINITY;
  }
}
