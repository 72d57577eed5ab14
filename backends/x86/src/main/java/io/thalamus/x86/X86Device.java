// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86;

import io.thalamus.cache.CacheEngine;
import io.thalamus.cache.NoCacheEngine;
import io.thalamus.driver.BufferMemory;
import io.thalamus.driver.BurstSource;
import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.driver.TableDevice;
import io.thalamus.driver.cache.CacheContents;
import io.thalamus.driver.cache.CacheWriter;
import io.thalamus.driver.cache.CachedArguments;
import io.thalamus.driver.cache.DeviceCache;
import io.thalamus.driver.tiles.Workers;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;
import io.thalamus.x86.asm.Level;
import io.thalamus.x86.code.ExecutableMemory;
import io.thalamus.x86.code.Machine;
import io.thalamus.x86.compile.Casting;
import io.thalamus.x86.compile.Constants;
import io.thalamus.x86.compile.Convolution;
import io.thalamus.x86.compile.Detections;
import io.thalamus.x86.compile.Elementwise;
import io.thalamus.x86.compile.Finding;
import io.thalamus.x86.compile.GraphCompiler;
import io.thalamus.x86.compile.Lowering;
import io.thalamus.x86.compile.Moving;
import io.thalamus.x86.compile.Normalization;
import io.thalamus.x86.compile.Pooling;
import io.thalamus.x86.compile.Program;
import io.thalamus.x86.compile.Recurrence;
import io.thalamus.x86.compile.Reduction;
import io.thalamus.x86.compile.Resize;
import io.thalamus.x86.compile.SharedWeights;
import io.thalamus.x86.compile.Softmax;
import io.thalamus.x86.compile.SpreadConvolution;
import io.thalamus.x86.compile.StoredConvolution;
import io.thalamus.x86.compile.StoredPairs;
import io.thalamus.x86.compile.StoredPooling;
import io.thalamus.x86.compile.StoredReals;
import io.thalamus.x86.compile.StoredSoftmax;
import io.thalamus.x86.compile.StoredTables;
import io.thalamus.x86.compile.Truth;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/**
 * A device that writes its own machine code, for float networks on x86-64. It computes in the
 * thread of its caller, and in threads of its own, which help with long operations. It is
 * registered where {@link X86Start} finds a machine that can run it.
 */
@Component(service = Device.class, name = "io.thalamus.x86")
@Designate(ocd = X86Settings.class)
@DeviceDriver(device = "x86", type = "CPU")
public final class X86Device extends TableDevice implements AutoCloseable {
  /** A file that is longer was not written by this device. */
  private static final long MAX_FILE_BYTES = 1L << 30;

  private final OperationTable<Lowering> table;
  private final Machine machine;
  private final Workers workers;
  private final DeviceCache cache;
  private final SharedWeights weights = new SharedWeights();

  /** Called by the component runtime. */
  @Activate
  public X86Device(
      BundleContext context,
      X86Settings settings,
      @Reference CacheEngine engine,
      @Reference Machine machine) {
    this(
        context.getBundle().getVersion().toString(),
        machine,
        settings.threads(),
        engine,
        BurstSource.of(context));
  }

  /** A device for use without a framework, which leaves bursts to others. */
  public X86Device(String version) {
    this(version, 0);
  }

  /**
   * A device for use without a framework, which leaves bursts to others.
   *
   * @param threads that compute an execution together; 0 for one on each processor
   */
  public X86Device(String version, int threads) {
    this(version, Machine.probe(), threads, new NoCacheEngine(), BurstSource.NONE);
  }

  /**
   * A device for use without a framework.
   *
   * @param machine what it may use; where that cannot run it, nothing can be prepared
   * @param threads that compute an execution together; 0 for one on each processor
   * @param engine vouches for what the device cached, and is closed after it
   */
  public X86Device(
      String version, Machine machine, int threads, CacheEngine engine, BurstSource bursts) {
    this(version, machine, threads, engine, bursts, OperationTable.of(X86Device::addFamily));
  }

  private X86Device(
      String version,
      Machine machine,
      int threads,
      CacheEngine engine,
      BurstSource bursts,
      OperationTable<Lowering> table) {
    super(
        cpuFacts("thalamus-x86", version, 0.25f),
        table,
        OperationCatalog.standard(),
        bursts,
        X86Device::buffer);
    this.machine = machine;
    this.table = table;
    cache = new DeviceCache(info(), engine, MAX_FILE_BYTES);
    workers =
        new Workers(
            threads > 0 ? threads : Runtime.getRuntime().availableProcessors(), "thalamus-x86");
  }

  /** Returns a buffer that functions read and write, with what they may read behind it. */
  private static BufferMemory buffer(Operand operand, long bytes) throws DeviceException {
    BufferMemory whole = BufferMemory.ofHost(bytes + Program.SLACK);
    MemorySegment part = whole.bytes().asSlice(0, bytes);
    return new BufferMemory() {
      @Override
      public MemorySegment bytes() {
        return part;
      }

      @Override
      public void close() {
        whole.close();
      }
    };
  }

  /** Adds a family of operations, the usual ones first. */
  private static boolean addFamily(int number, OperationTable.Builder<Lowering> table) {
    switch (number) {
      case 0 -> Convolution.register(table);
      case 1 -> Pooling.register(table);
      case 2 -> Elementwise.register(table);
      case 3 -> Softmax.register(table);
      case 4 -> Reduction.register(table);
      case 5 -> Moving.register(table);
      case 6 -> StoredConvolution.register(table);
      case 7 -> StoredPairs.register(table);
      case 8 -> StoredPooling.register(table);
      case 9 -> StoredSoftmax.register(table);
      case 10 -> StoredReals.register(table);
      case 11 -> StoredTables.register(table);
      case 12 -> Resize.register(table);
      case 13 -> Normalization.register(table);
      case 14 -> SpreadConvolution.register(table);
      case 15 -> Finding.register(table);
      case 16 -> Recurrence.register(table);
      case 17 -> Truth.register(table);
      case 18 -> Casting.register(table);
      case 19 -> Detections.register(table);
      default -> {
        return false;
      }
    }
    return true;
  }

  @Override
  protected boolean isLeaving() {
    return workers.isClosed();
  }

  @Override
  protected PreparedModel compile(Model model, PrepareConfig config)
      throws ValidationException, DeviceException {
    Program program = compile(StaticGraph.resolve(model.main(), catalog()), level(), config);
    PreparedModel prepared = load(model, program);
    if (CachedArguments.isPossible(model.main())) {
      store(model, program, config);
    }
    return prepared;
  }

  private Level level() throws DeviceException {
    return machine
        .best()
        .orElseThrow(() -> new DeviceException(ErrorStatus.GENERAL_FAILURE, machine.reason()));
  }

  /** Returns what differs between codes that must not be exchanged. */
  private byte[] settings() {
    return Digests.sha256(info().version() + '\0' + machine);
  }

  private void store(Model model, Program program, PrepareConfig config) {
    Optional<CacheWriter> files = cache.open(config);
    if (files.isPresent()) {
      Program alone = program.alone();
      try (CacheWriter writer = files.get();
          Constants _ = alone.constants()) {
        Model arguments = CachedArguments.alone(model.main());
        writer.write(new CachedProgram(arguments, alone, settings()).write(), config.deadline());
      }
    }
  }

  @Override
  protected PreparedModel restore(PrepareConfig config) throws IOException, DeviceException {
    Constants constants = new Constants();
    PreparedModel loaded = null;
    try {
      CacheContents contents = cache.read(config, constants);
      CachedProgram cached =
          CachedProgram.read(contents.modelCache().getFirst(), constants, settings());
      loaded = load(cached.arguments(), cached.program());
      return loaded;
    } finally {
      if (loaded == null) {
        constants.close();
      }
    }
  }

  /** Puts a program into memory, where its code is executable and cannot be written. */
  private PreparedModel load(Model model, Program program) throws DeviceException {
    PreparedModel loaded = null;
    try {
      checkRoom(program.memory() + program.constants().allBytes());
      ExecutableMemory code =
          ExecutableMemory.of(program.code())
              .orElseThrow(
                  () ->
                      new DeviceException(
                          ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT,
                          "this system refuses memory for code"));
      loaded = new X86PreparedModel(model, program, level(), code, workers, this);
      return loaded;
    } finally {
      if (loaded == null) {
        program.constants().close();
      }
    }
  }

  /** Returns the weights that its programs share. */
  SharedWeights weights() {
    return weights;
  }

  /** Compiles a graph of supported operations. */
  Program compile(StaticGraph graph, Level level, PrepareConfig config)
      throws ValidationException, DeviceException {
    return GraphCompiler.compile(graph, table, catalog(), level, weights, config);
  }

  /** Refuses further work and ends the threads; runs end at their next call of a function. */
  @Override
  @Deactivate
  public void close() {
    workers.close();
    buffers().close();
  }
}
