// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.api.Compilation;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.model.Priority;
import io.thalamus.model.Shape;
import io.thalamus.serving.Datatype;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.TensorMetadata;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/**
 * Requests of one version that come within a delay, executed as one whose rows are theirs. A model
 * is joined only if its rows do not know of each other, which is tried before it serves. Requests
 * whose joint execution fails are executed one by one, as if they had never been joined.
 * Thread-safe.
 */
final class Joiner {
  private static final System.Logger LOG = System.getLogger(Joiner.class.getPackageName());
  private static final int ALIGNMENT = 64;

  private final Batches batches;
  private final Signature signature;
  private final Terms terms;
  private final Map<Key, Group> groups = new HashMap<>();
  private final Queue<Room> rooms = new ConcurrentLinkedQueue<>();

  /**
   * The rules by which requests are joined.
   *
   * @param delay the longest time that the first one waits for others
   * @param rows as many are not waited for longer
   */
  record Terms(Duration delay, int rows) {}

  /**
   * A compilation that executes some rows at once.
   *
   * @param rows no more and no less
   * @param release is run after its last use
   */
  record Batch(Compilation compilation, int rows, Runnable release) {}

  /** Gives compilations for rows. */
  @FunctionalInterface
  interface Batches {
    /** Returns one for so many rows, or for some more. */
    Batch acquire(int rows) throws ServingException;
  }

  /** Requests that may be joined have it in common. */
  private record Key(Priority priority, Optional<String> client) {}

  /** Requests that wait for each other. */
  private static final class Group {
    final List<RunningInference> members = new ArrayList<>();
    long rows;
  }

  /**
   * Memory for as many rows as are joined, which is used again: to free memory that threads share
   * stops them all for a moment.
   */
  private record Room(MemorySegment[] inputs, MemorySegment[] outputs) {}

  private Joiner(Batches batches, Signature signature, Terms terms) {
    this.batches = batches;
    this.signature = signature;
    this.terms = terms;
  }

  /**
   * A joiner of a model that was tried.
   *
   * @throws ServingException with INVALID_ARGUMENT and the reason if the model cannot be joined
   */
  static Joiner of(Batches batches, Signature signature, Terms terms) throws ServingException {
    if (!signature.states().isEmpty()) {
      throw refused("it keeps a state");
    }
    check("input", signature.inputs());
    check("output", signature.outputs());
    Joiner joiner = new Joiner(batches, signature, terms);
    joiner.tryIt();
    return joiner;
  }

  private static void check(String kind, List<TensorMetadata> tensors) throws ServingException {
    for (TensorMetadata tensor : tensors) {
      List<Long> shape = tensor.shape();
      boolean isRows = shape.size() > 1 && shape.getFirst() < 0;
      if (!isRows || shape.stream().skip(1).anyMatch(dimension -> dimension < 0)) {
        throw refused(
            "%s '%s' has shape %s: expected one whose first dimension alone is open"
                .formatted(kind, tensor.name(), shape));
      }
    }
  }

  private static ServingException refused(String why) {
    return ServingException.invalid("its requests cannot be joined: " + why);
  }

  /** Returns the rows of a batch that is compiled for fixed rows: a power of 2, or the most. */
  static int batchRows(int rows, Terms terms) {
    return Math.min(terms.rows(), Integer.highestOneBit(2 * rows - 1));
  }

  /** Compares rows that are computed alone with the same ones together, for each batch. */
  private void tryIt() throws ServingException {
    Random random = new Random(1);
    try (Arena arena = Arena.ofShared()) {
      List<Integer> all = new ArrayList<>();
      for (int rows = 2; rows < terms.rows(); rows = 2 * rows - 1) {
        all.add(rows);
      }
      all.add(terms.rows());
      for (int rows : all) {
        MemorySegment[] inputs = memory(arena, signature.inputs(), rows);
        for (int i = 0; i < inputs.length; i++) {
          fill(inputs[i], signature.inputs().get(i).datatype(), random);
        }
        MemorySegment[] together = memory(arena, signature.outputs(), rows);
        execute(inputs, together, rows);
        MemorySegment[] alone = memory(arena, signature.outputs(), rows);
        for (int row = 0; row < rows; row++) {
          execute(
              rows(signature.inputs(), inputs, row, 1),
              rows(signature.outputs(), alone, row, 1),
              1);
        }
        for (int i = 0; i < alone.length; i++) {
          if (alone[i].mismatch(together[i]) >= 0) {
            throw refused(
                "output '%s' of %d rows together differs from theirs alone"
                    .formatted(signature.outputs().get(i).name(), rows));
          }
        }
      }
    }
  }

  private void execute(MemorySegment[] inputs, MemorySegment[] outputs, int rows)
      throws ServingException {
    Batch batch = batches.acquire(rows);
    try (Arena arena = Arena.ofShared()) {
      MemorySegment[] from = padded(arena, signature.inputs(), inputs, batch.rows());
      MemorySegment[] to = padded(arena, signature.outputs(), outputs, batch.rows());
      ExecutionReport report = execution(batch, from, to).compute();
      if (!report.isSuccess() || !isOfRows(report, batch.rows())) {
        throw refused("%d rows give %s %s".formatted(rows, report.code(), report.message()));
      }
      for (int i = 0; i < to.length; i++) {
        outputs[i].copyFrom(to[i].asSlice(0, outputs[i].byteSize()));
      }
    } finally {
      batch.release().run();
    }
  }

  /** Returns copies with more rows, which are 0. */
  private static MemorySegment[] padded(
      Arena arena, List<TensorMetadata> tensors, MemorySegment[] values, int rows) {
    MemorySegment[] larger = memory(arena, tensors, rows);
    for (int i = 0; i < larger.length; i++) {
      larger[i].asSlice(0, values[i].byteSize()).copyFrom(values[i]);
    }
    return larger;
  }

  private static void fill(MemorySegment value, Datatype datatype, Random random) {
    int size = datatype.size();
    for (long at = 0; at < value.byteSize(); at += size) {
      float number = 2 * random.nextFloat() - 1;
      switch (datatype) {
        case FP32 -> value.set(ValueLayout.JAVA_FLOAT, at, number);
        case FP16 -> value.set(ValueLayout.JAVA_SHORT, at, Float.floatToFloat16(number));
        case INT8, UINT8 -> value.set(ValueLayout.JAVA_BYTE, at, (byte) random.nextInt());
        // Others may be indexes of something: most models have two of it.
        default -> value.set(ValueLayout.JAVA_BYTE, at, (byte) random.nextInt(2));
      }
    }
  }

  private static MemorySegment[] memory(Arena arena, List<TensorMetadata> tensors, long rows) {
    return tensors.stream()
        .map(tensor -> arena.allocate(rows * rowBytes(tensor), ALIGNMENT))
        .toArray(MemorySegment[]::new);
  }

  private static long rowBytes(TensorMetadata tensor) {
    long bytes = tensor.datatype().size();
    for (long dimension : tensor.shape().subList(1, tensor.shape().size())) {
      bytes *= dimension;
    }
    return bytes;
  }

  private static MemorySegment[] rows(
      List<TensorMetadata> tensors, MemorySegment[] values, long first, long count) {
    MemorySegment[] rows = new MemorySegment[values.length];
    for (int i = 0; i < rows.length; i++) {
      long bytes = rowBytes(tensors.get(i));
      rows[i] = values[i].asSlice(first * bytes, count * bytes);
    }
    return rows;
  }

  private Execution execution(Batch batch, MemorySegment[] inputs, MemorySegment[] outputs) {
    Execution next = batch.compilation().createExecution();
    for (int i = 0; i < inputs.length; i++) {
      Shape shape = shape(signature.inputs().get(i), batch.rows());
      next.setInput(signature.inputIndex(i), inputs[i], shape);
    }
    for (int i = 0; i < outputs.length; i++) {
      next.setOutput(signature.outputIndex(i), outputs[i]);
    }
    return next;
  }

  /** Returns the dimensions of so many rows. */
  static Shape shape(TensorMetadata tensor, long rows) {
    int[] dimensions = tensor.shape().stream().mapToInt(Math::toIntExact).toArray();
    dimensions[0] = Math.toIntExact(rows);
    return Shape.of(dimensions);
  }

  private boolean isOfRows(ExecutionReport report, long rows) {
    for (int i = 0; i < signature.outputs().size(); i++) {
      int place = signature.outputIndex(i);
      Shape wanted = shape(signature.outputs().get(i), rows);
      if (place >= report.outputs().size() || !report.outputs().get(place).shape().equals(wanted)) {
        return false;
      }
    }
    return true;
  }

  /** Has a request wait for others; it is answered in any case. */
  void add(RunningInference member) {
    Key key = new Key(member.request().priority(), member.request().client());
    List<Group> full = new ArrayList<>();
    synchronized (groups) {
      Group group = groups.get(key);
      if (group != null && group.rows + member.rows() > terms.rows()) {
        full.add(groups.remove(key));
        group = null;
      }
      if (group == null) {
        group = new Group();
        groups.put(key, group);
        Group begun = group;
        Thread.ofVirtual().name("thalamus-serving-join").start(() -> await(key, begun));
      }
      group.members.add(member);
      group.rows += member.rows();
      if (group.rows >= terms.rows()) {
        full.add(groups.remove(key));
      }
    }
    full.forEach(this::start);
  }

  private void await(Key key, Group group) {
    try {
      TimeUnit.NANOSECONDS.sleep(terms.delay().toNanos());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    boolean isOpen;
    synchronized (groups) {
      isOpen = groups.remove(key, group);
    }
    if (isOpen) {
      start(group);
    }
  }

  private Room newRoom() {
    Arena arena = Arena.ofAuto();
    return new Room(
        memory(arena, signature.inputs(), terms.rows()),
        memory(arena, signature.outputs(), terms.rows()));
  }

  private void start(Group group) {
    if (group.members.size() == 1) {
      group.members.getFirst().alone();
      return;
    }
    Room spare = rooms.poll();
    Room room = spare == null ? newRoom() : spare;
    Batch batch = null;
    boolean isStarted = false;
    try {
      batch = batches.acquire(Math.toIntExact(group.rows));
      MemorySegment[] inputs = rows(signature.inputs(), room.inputs, 0, batch.rows());
      MemorySegment[] outputs = rows(signature.outputs(), room.outputs, 0, batch.rows());
      long row = 0;
      for (RunningInference member : group.members) {
        MemorySegment[] own = rows(signature.inputs(), inputs, row, member.rows());
        for (int i = 0; i < own.length; i++) {
          own[i].copyFrom(member.input(i));
        }
        row += member.rows();
      }
      // Rows that nobody sent are those of an earlier batch otherwise.
      long missing = batch.rows() - group.rows;
      for (MemorySegment rest : rows(signature.inputs(), inputs, group.rows, missing)) {
        rest.fill((byte) 0);
      }
      RunningInference first = group.members.getFirst();
      Execution next = execution(batch, inputs, outputs);
      next.setPriority(first.request().priority()).setClient(first.request().client().orElse(""));
      Optional<Duration> shortest =
          group.members.stream().flatMap(each -> each.left().stream()).min(Duration::compareTo);
      if (shortest.isPresent() && shortest.get().isPositive()) {
        next.setTimeout(shortest.get());
      }
      group.members.forEach(RunningInference::begun);
      Batch used = batch;
      next.computeAsync().whenComplete((report, fault) -> ended(group, room, used, report, fault));
      isStarted = true;
    } catch (ServingException e) {
      // Each member is informed when it is executed alone.
      LOG.log(Level.DEBUG, "requests are not joined", e);
    } finally {
      if (!isStarted) {
        if (batch != null) {
          batch.release().run();
        }
        group.members.forEach(RunningInference::alone);
      }
    }
  }

  private void ended(Group group, Room room, Batch batch, ExecutionReport report, Throwable fault) {
    batch.release().run();
    if (fault != null || !report.isSuccess() || !isOfRows(report, batch.rows())) {
      // The room is not used again: whoever has failed may still write there.
      group.members.forEach(RunningInference::alone);
      return;
    }
    long row = 0;
    for (RunningInference member : group.members) {
      member.joined(report, rows(signature.outputs(), room.outputs, row, member.rows()), row == 0);
      row += member.rows();
    }
    rooms.add(room);
  }
}
