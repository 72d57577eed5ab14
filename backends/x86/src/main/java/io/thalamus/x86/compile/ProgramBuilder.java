// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.LifetimePlan;
import io.thalamus.driver.LifetimePlan.Value;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Shape;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.compile.Program.Argument;
import io.thalamus.x86.compile.Program.Check;
import io.thalamus.x86.compile.Program.Copied;
import io.thalamus.x86.compile.Program.Group;
import io.thalamus.x86.compile.Program.Range;
import io.thalamus.x86.compile.SharedWeights.Packed;
import io.thalamus.x86.kernel.Emitter;
import io.thalamus.x86.kernel.Extent;
import io.thalamus.x86.kernel.Function;
import io.thalamus.x86.kernel.FunctionSource;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Collects functions, constants and calls. A call whose function would access a byte outside of its
 * places is an {@link IllegalStateException} of the compilation. Used once.
 *
 * <p>Calls of one operation may run at the same time, in any order, until one of them reads what an
 * earlier one writes, or writes what an earlier one reads. If calls write to the same bytes, or one
 * changes what it finds, {@link #barrier} must stand between them.
 */
final class ProgramBuilder {
  private static final int ALIGNMENT = 64;

  /** Bytes of a constant above which a run does without a copy. */
  private static final int LEAST_LARGE = 1 << 12;

  /** Bytes that calls access below which a second thread does not pay: some microseconds. */
  private static final long LEAST_SHARED = 1 << 17;

  /** Products of bytes that take as long as an access to one. */
  private static final int PRODUCTS_OF_BYTE = 8;

  private final Emitter emitter;
  private final SharedWeights weights;
  private final Constants constants = new Constants();
  private final List<Place> places = new ArrayList<>();
  private final List<Call> calls = new ArrayList<>();
  private final List<Constant> copied = new ArrayList<>();
  private final List<Checked> checked = new ArrayList<>();
  private final Map<Object, Object> shared = new HashMap<>();
  private Place zero;
  private int step;

  /** By operation, the call behind its last one. */
  private final List<Integer> operations = new ArrayList<>();

  /** The ends of groups of any duration. */
  private final List<Group> ends = new ArrayList<>();

  private final Set<Place> readInGroup = new HashSet<>();
  private final Set<Place> writtenInGroup = new HashSet<>();
  private long bytesOfGroup;

  /** The last call of the group, if one of the same places need not wait for it; else null. */
  private Spot[] latest;

  /** A call; the spots are in the order of the function's arguments. */
  private record Call(Function function, Spot[] spots, long blocks) {}

  private record Checked(Place status, int at, int limit) {}

  private record Constant(long from, Place to) {}

  /**
   * A builder.
   *
   * @param weights of all programs of the device
   */
  ProgramBuilder(Level level, SharedWeights weights) {
    emitter = new Emitter(level);
    this.weights = weights;
  }

  Emitter emitter() {
    return emitter;
  }

  /**
   * Begins the calls of another operation, or of a part of one: a place that is needed before alone
   * may be where one is that is needed from now on alone.
   */
  void nextStep() {
    barrier();
    step++;
  }

  /** Ends the calls of an operation of the graph. */
  void endOperation() {
    operations.add(calls.size());
  }

  /** Has calls wait for all that have been added. */
  void barrier() {
    int first = ends.isEmpty() ? 0 : ends.getLast().end();
    if (calls.size() > first) {
      boolean isShared = calls.size() - first > 1 && bytesOfGroup >= LEAST_SHARED;
      if (!isShared && !ends.isEmpty() && !ends.getLast().isShared()) {
        ends.removeLast();
      }
      ends.add(new Group(calls.size(), isShared));
    }
    readInGroup.clear();
    writtenInGroup.clear();
    bytesOfGroup = 0;
    latest = null;
  }

  Place place(long bytes) {
    Place place = new Place(bytes);
    places.add(place);
    return place;
  }

  /** Returns a place that holds a constant during all runs. */
  Place constantPlace(byte[] value) {
    Place place = place(value.length);
    place.use(0);
    place.use(Integer.MAX_VALUE);
    copied.add(new Constant(constant(value), place));
    return place;
  }

  /**
   * Returns a place of a constant of the graph: a large one is read where it stands, and copied to
   * there only if the model does not have it in memory that stays as it is.
   */
  Place constantPlace(Lifetime.Constant constant) {
    MemorySegment bytes = constant.bytes();
    if (bytes.byteSize() < LEAST_LARGE) {
      return constantPlace(bytes.toArray(ValueLayout.JAVA_BYTE));
    }
    return Place.ofConstant(
        bytes.byteSize(),
        constant instanceof Lifetime.ConstantReference reference
                && Identity.isImmutable(reference.pool())
                && reference.pool().size() - reference.offset()
                    >= reference.length() + Program.SLACK
            ? constants.add(
                reference.pool(), reference.offset(), reference.length() + Program.SLACK)
            : constant(Identity.of(constant), () -> new Packed(bytes, null)).at());
  }

  /** Returns a place that holds a 0 of 64 bits during all runs. */
  Place zero() {
    if (zero == null) {
      zero = constantPlace(new byte[Long.BYTES]);
    }
    return zero;
  }

  /**
   * Has a run fail in the end if a place has a number there that is not 0.
   *
   * @param at bytes from the beginning of the place
   * @param limit of indexes; 0 for integers of 64 bits that must be ones of 32
   */
  void check(Place status, int at, int limit) {
    status.use(step);
    status.use(Integer.MAX_VALUE);
    checked.add(new Checked(status, at, limit));
  }

  /** Returns what has been made for a key, once: what many operations share. */
  @SuppressWarnings("unchecked")
  <T> T once(Object key, Supplier<T> maker) {
    T made = (T) shared.get(key);
    if (made == null) {
      made = maker.get();
      shared.put(key, made);
    }
    return made;
  }

  /** Returns where some bytes stand among the constants. */
  long constant(byte[] value) {
    return constants.add(MemorySegment.ofArray(value));
  }

  /** A part that stands among the constants, and what was said of it. */
  record Part(long at, Object note) {}

  /**
   * Returns a part that other programs of the device have too.
   *
   * @param key says all that decides on it; empty for what nobody else has
   */
  Part constant(Optional<?> key, Supplier<Packed> packer) {
    if (key.isEmpty()) {
      Packed packed = packer.get();
      long at = constants.bytes();
      packed.writer().accept(constants.allocate(packed.bytes(), ALIGNMENT));
      // What follows may be read.
      constants.allocate(Program.SLACK, ALIGNMENT);
      return new Part(at, packed.note());
    }
    // Tests compile for several levels on one device.
    SharedWeights.Part part = weights.take(List.of(emitter.level(), key.get()), packer);
    return new Part(constants.add(part), part.note());
  }

  /** Calls a function for one block. */
  void call(FunctionSource function, Spot... spots) {
    call(function, 1, spots);
  }

  /**
   * Calls a function for some blocks.
   *
   * @param spots in the order of its arguments: what is read, what is written, and what else is
   *     read
   */
  void call(FunctionSource function, long blocks, Spot... spots) {
    call(function.emit(emitter), 0, blocks, spots);
  }

  /** Calls a function for some blocks at a time at the most. */
  void callInParts(FunctionSource function, long blocks, long most, Spot... spots) {
    callInParts(function.emit(emitter), blocks, most, spots);
  }

  /** Calls a function, which has been emitted, for some blocks at a time at the most. */
  void callInParts(Function function, long blocks, long most, Spot... spots) {
    for (long block = 0; block < blocks; block += most) {
      call(function, block, Math.min(most, blocks - block), spots);
    }
  }

  private void call(Function function, long block, long blocks, Spot... spots) {
    for (int i = spots.length; i < function.extents().size(); i++) {
      if (function.extent(i).first() > 0) {
        throw new IllegalStateException("a call has only " + spots.length + " arguments");
      }
    }
    Spot[] moved = spots.clone();
    for (int i = 0; i < spots.length && block > 0; i++) {
      moved[i] = spots[i].plus(block * function.extent(i).next());
    }
    call(new Call(function, moved, blocks));
  }

  private void call(Call call) {
    Spot[] spots = call.spots();
    long bytes = 0;
    for (int i = 0; i < spots.length; i++) {
      Extent extent = call.function().extent(i);
      check(extent, call.blocks(), spots[i].at(), room(spots[i], i));
      bytes += extent.bytes(call.blocks());
    }
    if (latest == null || !haveSamePlaces(spots, latest)) {
      order(spots);
    }
    bytesOfGroup += bytes;
    calls.add(call);
  }

  private static boolean haveSamePlaces(Spot[] spots, Spot[] others) {
    boolean haveSame = spots.length == others.length;
    for (int i = 0; haveSame && i < spots.length; i++) {
      haveSame = spots[i].place() == others[i].place();
    }
    return haveSame;
  }

  private long room(Spot spot, int argument) {
    return spot.place() == null
        ? spot.at() + constants.bytesFrom(spot.at())
        : spot.place().bytes() + (argument == 0 ? Program.SLACK : 0);
  }

  /** Says how many products the last calls compute. */
  void multiplied(long products) {
    bytesOfGroup += products / PRODUCTS_OF_BYTE;
  }

  /** Begins a group where a call must wait for others. */
  private void order(Spot[] spots) {
    Place written = spots[Function.WRITTEN].place();
    boolean waits = readInGroup.contains(written);
    for (int i = 0; i < spots.length; i++) {
      waits |= i != Function.WRITTEN && writtenInGroup.contains(spots[i].place());
    }
    if (waits) {
      barrier();
    }
    for (int i = 0; i < spots.length; i++) {
      Place place = spots[i].place();
      if (place != null) {
        place.use(step);
        if (i != Function.WRITTEN) {
          readInGroup.add(place);
        }
      }
    }
    writtenInGroup.add(written);
    latest = readInGroup.contains(written) ? null : spots;
  }

  private static void check(Extent extent, long blocks, long from, long bytes) {
    if (blocks < 1 || from < 0 || extent.bytes(blocks) > bytes - from) {
      throw new IllegalStateException(
          "a call would access %d bytes from %d on of %d"
              .formatted(extent.bytes(blocks), from, bytes));
    }
  }

  /** Gives back what no program will own. */
  void abandon() {
    constants.close();
  }

  /** Places what has been collected. */
  Program build(Place[] inputs, Place[] outputs, List<Shape> shapes) {
    barrier();
    for (Place output : outputs) {
      if (output.isConstant()) {
        copied.add(new Constant(output.offset(), output));
        output.move();
        output.use(0);
        output.use(Integer.MAX_VALUE);
        places.add(output);
      }
    }
    List<Place> used = places.stream().filter(place -> place.first() <= place.last()).toList();
    LifetimePlan plan =
        LifetimePlan.of(
            used.stream()
                .map(
                    place ->
                        new Value(
                            (place.bytes() + Program.SLACK + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
                            place.first(),
                            place.last()))
                .toList());
    for (int i = 0; i < used.size(); i++) {
      used.get(i).put(plan.offsets()[i]);
    }
    long[] numbers = new long[calls.size() * Program.CALL];
    Place[] accessed = new Place[numbers.length];
    int at = 0;
    for (Call call : calls) {
      numbers[at] = call.function().entry();
      for (int i = 0; i < call.spots().length; i++) {
        numbers[at + 1 + i] = call.spots()[i].offset();
        accessed[at + 1 + i] = call.spots()[i].place();
      }
      numbers[at + Program.BLOCKS] = call.blocks();
      at += Program.CALL;
    }
    int[] operationsOfParts = new int[operations.size()];
    Arrays.setAll(operationsOfParts, operations::get);
    return new Program(
        emitter.finish(),
        constants,
        numbers,
        calls.stream().map(Call::function).toList(),
        List.copyOf(ends),
        operationsOfParts,
        plan.size(),
        copied.stream().map(one -> new Copied(one.from(), range(one.to()))).toList(),
        checked.stream()
            .map(one -> new Check(one.status().offset() + one.at(), one.limit()))
            .toList(),
        arguments(inputs, inputs, outputs, accessed),
        arguments(outputs, inputs, outputs, accessed),
        shapes,
        numbers(accessed, Place::isConstant));
  }

  /**
   * Returns where inputs or outputs stand.
   *
   * @param accessed by number of the calls; null for numbers that lead to no place
   */
  private Argument[] arguments(Place[] places, Place[] inputs, Place[] outputs, Place[] accessed) {
    Argument[] arguments = new Argument[places.length];
    for (int i = 0; i < arguments.length; i++) {
      Place place = places[i];
      boolean isSole =
          count(place, inputs) + count(place, outputs) == 1
              && copied.stream().noneMatch(constant -> constant.to() == place);
      arguments[i] =
          place.offset() < 0
              ? null
              : new Argument(
                  range(place), isSole ? numbers(accessed, other -> other == place) : new int[0]);
    }
    return arguments;
  }

  private static int count(Place place, Place... places) {
    int count = 0;
    for (Place other : places) {
      count += other == place ? 1 : 0;
    }
    return count;
  }

  /** Returns which numbers of the calls lead to some places. */
  private static int[] numbers(Place[] accessed, Predicate<Place> places) {
    int[] numbers = new int[accessed.length];
    int count = 0;
    for (int i = 0; i < accessed.length; i++) {
      if (accessed[i] != null && places.test(accessed[i])) {
        numbers[count++] = i;
      }
    }
    return Arrays.copyOf(numbers, count);
  }

  private static Range range(Place place) {
    return new Range(place.offset(), place.bytes());
  }
}
