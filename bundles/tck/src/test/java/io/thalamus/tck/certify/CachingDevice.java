// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.CacheFile;
import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PrepareConfig.Cache;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Priority;
import io.thalamus.tck.graph.EvaluatorDevice;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.NonReadableChannelException;
import java.nio.channels.NonWritableChannelException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * A device that caches compilations in two model files and one data file, and breaks one rule where
 * that is wanted. Its code is the number of a model that it keeps. Used by one thread.
 */
final class CachingDevice extends DelegatingDevice {
  /** The rules that it can break. */
  enum Fault {
    NONE,
    /** Restores whatever it can read. */
    NEVER_CHECKS_HASHES,
    /** Restores whatever it stored under any token. */
    IGNORES_TOKEN,
    /** Looks into its own memory instead of the files. */
    IGNORES_FILES,
    WRITES_NOTHING,
    TRUNCATES,
    /** Writes and reads where the handle stands, and leaves the rest. */
    USES_THE_POSITION,
    /** Fails a prepare that it cannot store. */
    FAILS_PREPARE,
    /** Reads files that are not open for reading, and as many as it likes. */
    THROWS_FOR_WRONG_FILES,
    /** Refuses with a status that tells the caller to try again. */
    REFUSES_WITH_ANOTHER_STATUS,
    /** Hashes what it finds in the files after it has written them. */
    HASHES_THE_FILES,
    /** Reads the files once more after it has checked them. */
    READS_TWICE,
    /** Trusts the lengths that a data cache states. */
    TRUSTS_DATA,
    RESTORES_A_WRONG_MODEL,
    /** Closes a duplicate of a handle only when there are too many of them. */
    KEEPS_HANDLES,
    /** Restores what it stored only for the priority that it was stored for. */
    BINDS_THE_PRIORITY,
    /** Computes wrong sums, with and without a cache. */
    ADDS_WRONG
  }

  private static final Set<String> OPERATIONS = Set.of("ADD", "MUL", "RELU", "FULLY_CONNECTED");

  /** Their checks are the same. */
  private static final Set<OperandCode> OMITTED =
      EnumSet.of(OperandCode.TENSOR_FLOAT16, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);

  private static final int CODE_BYTES = 200;
  private static final long PAUSE_NANOS = 200_000;

  private static final int MOST_KEPT = 60;

  private final Fault fault;
  private final Queue<CacheFile> kept = new ArrayDeque<>();
  private final List<Model> programs = new ArrayList<>();
  private final Map<CacheToken, List<byte[]>> remembered = new HashMap<>();
  private final Map<CacheToken, Priority> priorities = new HashMap<>();

  CachingDevice(Fault fault) {
    super(fault == Fault.ADDS_WRONG ? new EvaluatorDevice("ADD", _ -> 1) : new EvaluatorDevice());
    this.fault = fault;
  }

  @Override
  public DeviceInfo info() {
    DeviceInfo info = super.info();
    return DeviceInfo.builder(info.name(), info.version())
        .capabilities(info.capabilities())
        .cacheNeeds(new CacheNeeds(2, 1))
        .cacheSharedByPriorities(true)
        .build();
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    BitSet supported = super.supportedOperations(model);
    for (int i = 0; i < model.main().operations().size(); i++) {
      if (!OPERATIONS.contains(model.main().operations().get(i).type().text())) {
        supported.clear(i);
      }
    }
    for (Operand operand : model.main().operands()) {
      if (OMITTED.contains(operand.type())) {
        supported.clear();
      }
    }
    return supported;
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    if (config.cache().isPresent()) {
      Cache cache = config.cache().get();
      String wrong = wrong(cache);
      if (wrong == null) {
        store(model, cache);
        priorities.put(cache.token(), config.priority());
      } else if (fault == Fault.FAILS_PREPARE) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, wrong);
      }
    }
    return super.prepare(model, config);
  }

  private void store(Model model, Cache cache) throws DeviceException {
    programs.add(model);
    int number = programs.size() - 1;
    List<byte[]> contents = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      byte[] content = new byte[CODE_BYTES];
      Arrays.fill(content, (byte) (i + 1));
      contents.add(ByteBuffer.wrap(content).putInt(number).array());
    }
    try {
      if (fault != Fault.WRITES_NOTHING) {
        for (int i = 0; i < 3; i++) {
          write(files(cache).get(i), contents.get(i));
        }
      }
      if (fault == Fault.HASHES_THE_FILES) {
        LockSupport.parkNanos(PAUSE_NANOS);
        contents = read(cache);
      }
      remembered.put(cache.token(), contents);
    } catch (IOException e) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "it cannot be stored", e);
    }
  }

  private void write(CacheFile file, byte[] content) throws IOException {
    CacheFile duplicate = file.duplicate();
    int length = fault == Fault.TRUNCATES ? content.length / 2 : content.length;
    ByteBuffer bytes = ByteBuffer.wrap(content, 0, length);
    if (fault == Fault.USES_THE_POSITION) {
      file.channel().write(bytes);
    } else {
      duplicate.channel().write(bytes, 0);
      duplicate.channel().truncate(length);
    }
    kept.add(duplicate);
    while (kept.size() > (fault == Fault.KEEPS_HANDLES ? MOST_KEPT : 0)) {
      kept.remove().close();
    }
  }

  private static List<CacheFile> files(Cache cache) {
    return Stream.concat(cache.modelCache().stream(), cache.dataCache().stream()).toList();
  }

  private List<byte[]> read(Cache cache) throws IOException {
    List<byte[]> contents = new ArrayList<>();
    for (CacheFile file : files(cache)) {
      FileChannel channel = file.channel();
      long from = fault == Fault.USES_THE_POSITION ? channel.position() : 0;
      ByteBuffer bytes = ByteBuffer.allocate((int) Math.max(0, channel.size() - from));
      channel.read(bytes, from);
      contents.add(bytes.array());
    }
    return contents;
  }

  /** Says what is wrong with the files; null for nothing. */
  private static String wrong(Cache cache) {
    if (cache.modelCache().size() != 2 || cache.dataCache().size() != 1) {
      return "a wrong number of files";
    }
    for (CacheFile file : files(cache)) {
      try {
        file.channel().read(ByteBuffer.allocate(0));
        file.channel().write(ByteBuffer.allocate(0));
      } catch (IOException | NonReadableChannelException | NonWritableChannelException e) {
        return "a file is not open as it should be: " + e;
      }
    }
    return null;
  }

  @Override
  public PreparedModel prepareFromCache(PrepareConfig config) throws DeviceException {
    Cache cache = config.cache().orElseThrow();
    String wrong = wrong(cache);
    if (wrong != null && fault == Fault.THROWS_FOR_WRONG_FILES) {
      throw new IllegalStateException(wrong);
    }
    if (wrong != null && fault != Fault.IGNORES_FILES) {
      throw refusal(wrong);
    }
    try {
      List<byte[]> contents =
          fault == Fault.IGNORES_FILES ? remembered.get(cache.token()) : read(cache);
      check(cache.token(), contents);
      if (fault == Fault.BINDS_THE_PRIORITY && priorities.get(cache.token()) != config.priority()) {
        throw refusal("it was stored for another priority");
      }
      if (fault == Fault.READS_TWICE) {
        LockSupport.parkNanos(PAUSE_NANOS);
        contents = read(cache);
      }
      return super.prepare(program(contents.getFirst()), config);
    } catch (IOException e) {
      throw refusal("it cannot be read: " + e);
    }
  }

  private DeviceException refusal(String message) {
    return new DeviceException(
        fault == Fault.REFUSES_WITH_ANOTHER_STATUS
            ? ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT
            : ErrorStatus.GENERAL_FAILURE,
        message);
  }

  private void check(CacheToken token, List<byte[]> contents) throws DeviceException {
    boolean isRemembered =
        switch (fault) {
          case NEVER_CHECKS_HASHES -> true;
          case IGNORES_TOKEN -> remembered.values().stream().anyMatch(own -> equal(own, contents));
          case TRUSTS_DATA -> remembered.containsKey(token) && data(token, contents);
          default -> remembered.containsKey(token) && equal(remembered.get(token), contents);
        };
    if (!isRemembered) {
      throw refusal("the files do not hold what was stored under this token");
    }
  }

  /** Returns true if the code is as it was stored; reads the data as it is stated. */
  private boolean data(CacheToken token, List<byte[]> contents) {
    List<byte[]> stored = remembered.get(token);
    if (!Arrays.equals(stored.getLast(), contents.getLast())) {
      throw new IndexOutOfBoundsException("in the tables of the data cache");
    }
    return equal(stored.subList(0, 2), contents.subList(0, 2));
  }

  private static boolean equal(List<byte[]> stored, List<byte[]> contents) {
    boolean equal = stored.size() == contents.size();
    for (int i = 0; equal && i < stored.size(); i++) {
      equal = Arrays.equals(stored.get(i), contents.get(i));
    }
    return equal;
  }

  private Model program(byte[] code) throws DeviceException {
    int number =
        code.length < Integer.BYTES || fault == Fault.RESTORES_A_WRONG_MODEL
            ? 0
            : ByteBuffer.wrap(code).getInt();
    if (number < 0 || number >= programs.size()) {
      throw refusal("there is no such program");
    }
    return programs.get(number);
  }
}
