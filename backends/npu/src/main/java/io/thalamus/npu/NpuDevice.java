// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import io.thalamus.cache.CacheEngine;
import io.thalamus.cache.NoCacheEngine;
import io.thalamus.driver.BurstSource;
import io.thalamus.driver.Checkpoint;
import io.thalamus.driver.TableDevice;
import io.thalamus.driver.cache.CachedArguments;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.Capabilities;
import io.thalamus.model.Deadline;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.Model;
import io.thalamus.model.NanoClock;
import io.thalamus.model.OperandCode;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.npu.ProgramCache.Slot;
import io.thalamus.npu.command.Executable;
import io.thalamus.npu.command.ExecutableFormat;
import io.thalamus.npu.compile.NpuCompilation;
import io.thalamus.npu.compile.NpuCompiler;
import io.thalamus.npu.timing.OperatingPoint;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;
import io.thalamus.operations.extension.ThalamusExtension;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/**
 * A simulated accelerator for 8-bit and float16 networks. Its results are real, its times are those
 * of the hardware that its settings describe. Owns one thread, which runs the second stage of
 * compilations and ends when the device is closed; executions that are under way then end with a
 * failure at the next command. It runs one execution at a time.
 */
@Component(service = Device.class, configurationPid = "io.thalamus.npu")
@Designate(ocd = NpuSettings.class)
@DeviceDriver(device = "npu", type = "ACCELERATOR")
public final class NpuDevice extends TableDevice implements AutoCloseable {
  private final NpuConfig config;
  private final NpuCompiler compiler;
  private final Host host;
  private final ProgramCache cache;
  private final SecondStage secondStage = new SecondStage(System::nanoTime);
  private final Chip chip;

  /** Called by the component runtime. */
  @Activate
  public NpuDevice(BundleContext context, NpuSettings settings, @Reference CacheEngine engine) {
    this(
        context.getBundle().getVersion().toString(),
        NpuConfig.of(settings),
        engine,
        Host.of(context));
  }

  /** A device of its own that caches nothing. */
  public NpuDevice(String version, NpuConfig config) {
    this(version, config, new NoCacheEngine());
  }

  /**
   * A device of its own.
   *
   * @param engine vouches for what the device cached, and is closed after it
   */
  public NpuDevice(String version, NpuConfig config, CacheEngine engine) {
    this(version, config, engine, BurstSource.NONE);
  }

  /**
   * A device of its own that serves bursts.
   *
   * @param engine as above
   */
  public NpuDevice(String version, NpuConfig config, CacheEngine engine, BurstSource bursts) {
    this(version, config, engine, Host.ALONE.with(bursts));
  }

  /** A device in surroundings. */
  NpuDevice(String version, NpuConfig config, CacheEngine engine, Host host) {
    this(
        version,
        config,
        engine,
        host,
        new NpuCompiler(config.architecture(), OperationCatalog.standard()));
  }

  private NpuDevice(
      String version, NpuConfig config, CacheEngine engine, Host host, NpuCompiler compiler) {
    super(
        facts(version),
        compiler.table(),
        OperationCatalog.standard(),
        host.bursts(),
        new BufferDram(config.bufferBytes()));
    this.config = config;
    this.compiler = compiler;
    this.host = host;
    this.cache = new ProgramCache(info(), config, engine, host.clock());
    this.chip = new Chip(config.architecture(), config.power(), host.time(), host.isLeaving());
  }

  /**
   * The surroundings of a device. Immutable.
   *
   * @param bursts serves them
   * @param clock gives the age of a cache
   * @param isLeaving whether the device is about to leave, before it is closed
   * @param time that passes for a device that is idle
   */
  record Host(BurstSource bursts, InstantSource clock, BooleanSupplier isLeaving, NanoClock time) {
    /** Without a framework. */
    static final Host ALONE = new Host(BurstSource.NONE, InstantSource.system(), () -> false);

    Host(BurstSource bursts, InstantSource clock, BooleanSupplier isLeaving) {
      this(bursts, clock, isLeaving, NanoClock.SYSTEM);
    }

    /** A bundle that stops waits for calls under way before its components are closed. */
    static Host of(BundleContext context) {
      Bundle bundle = context.getBundle();
      return new Host(
          BurstSource.of(context),
          InstantSource.system(),
          () -> (bundle.getState() & (Bundle.STARTING | Bundle.ACTIVE)) == 0);
    }

    Host with(BurstSource source) {
      return new Host(source, clock, isLeaving, time);
    }

    Host with(NanoClock source) {
      return new Host(bursts, clock, isLeaving, source);
    }

    Host with(InstantSource source) {
      return new Host(bursts, source, isLeaving, time);
    }
  }

  private static DeviceInfo facts(String version) {
    PerformanceInfo stored = new PerformanceInfo(0.1f, 0.02f);
    PerformanceInfo half = new PerformanceInfo(0.4f, 0.1f);
    return DeviceInfo.builder("thalamus-npu", version)
        .type(DeviceType.ACCELERATOR)
        .capabilities(
            new Capabilities(
                PerformanceInfo.UNSUPPORTED,
                PerformanceInfo.UNSUPPORTED,
                Map.of(
                    OperandCode.TENSOR_QUANT8_ASYMM,
                    stored,
                    OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
                    stored,
                    OperandCode.TENSOR_FLOAT16,
                    half),
                PerformanceInfo.UNSUPPORTED,
                PerformanceInfo.UNSUPPORTED))
        .memoryDomain(true)
        .cacheNeeds(new CacheNeeds(1, 1))
        .exactQuantized(true)
        .extensions(Set.of(ThalamusExtension.NAME))
        .build();
  }

  @Override
  protected boolean isLeaving() {
    return secondStage.isClosed() || host.isLeaving().getAsBoolean();
  }

  @Override
  protected PreparedModel compile(Model model, PrepareConfig caller)
      throws ValidationException, DeviceException {
    PrepareConfig prepare = caller.with(caller.control().until(this::isLeaving, Signal.CANCELLED));
    OperatingPoint point = config.points().choose(prepare.preference());
    NpuCompilation compilation = compiler.compile(model.main(), prepare);
    boolean waits = config.searchFirst() && config.searchBudget() > 0;
    boolean isFinal = waits || config.searchBudget() == 0;
    Executable executable =
        waits
            ? compilation.searched(
                point, config.searchBudget(), config.seed(), () -> mustEnd(prepare))
            : compilation.quick();
    Checkpoint.pass(prepare);
    Program first = load(ExecutableFormat.write(executable), point);
    NpuPreparedModel prepared =
        new NpuPreparedModel(
            CachedArguments.alone(model.main()),
            this,
            compilation.outputShapes(),
            Optional.empty(),
            first,
            config,
            secondStage,
            prepare.priority(),
            chip);
    Optional<Slot> slot = cache.open(model, prepared, prepare);
    boolean isSearched = false;
    try {
      slot.ifPresent(files -> files.store(first, isFinal, prepare.deadline()));
      if (!isFinal) {
        secondStage.submit(prepared, new TilingSearch(compilation, point, slot));
        isSearched = true;
      }
    } finally {
      if (!isSearched) {
        slot.ifPresent(Slot::close);
      }
    }
    return prepared;
  }

  private static boolean mustEnd(PrepareConfig prepare) {
    return prepare.deadline().hasPassed() || prepare.control().checkpoint() != Signal.CONTINUE;
  }

  /** Searches for nothing: a restored model keeps the program that was stored. */
  @Override
  protected PreparedModel restore(PrepareConfig prepare) throws DeviceException {
    CachedProgram cached = cache.restore(prepare);
    return new NpuPreparedModel(
        cached.arguments(),
        this,
        cached.shapes(),
        cache.staleness(cached),
        load(cached.file(), config.points().choose(cached.preference())),
        config,
        secondStage,
        prepare.priority(),
        chip);
  }

  private Program load(byte[] file, OperatingPoint point) throws DeviceException {
    return Program.load(file, config.architecture(), config.power(), point);
  }

  /** The second stage of one model. */
  private final class TilingSearch implements SecondStage.Work {
    private final NpuCompilation compilation;
    private final OperatingPoint point;
    private final Optional<Slot> slot;

    TilingSearch(NpuCompilation compilation, OperatingPoint point, Optional<Slot> slot) {
      this.compilation = compilation;
      this.point = point;
      this.slot = slot;
    }

    @Override
    public Program compile(BooleanSupplier isStopped) throws DeviceException {
      Executable executable =
          compilation.searched(point, config.searchBudget(), config.seed(), isStopped);
      return load(ExecutableFormat.write(executable), point);
    }

    @Override
    public boolean isCached() {
      return slot.isPresent();
    }

    @Override
    public void store(Program better) {
      slot.ifPresent(files -> files.store(better, true, Deadline.NONE));
    }

    @Override
    public void close() {
      slot.ifPresent(Slot::close);
    }
  }

  /** Returns what the device has done until now. */
  public NpuActivity activity() {
    return chip.activity();
  }

  /** Returns the device's own clock and the queue of those that want it. */
  Chip chip() {
    return chip;
  }

  /** Refuses further work, wakes what waits for the device, ends the thread, then the buffers. */
  @Override
  @Deactivate
  public void close() {
    chip.close();
    secondStage.close();
    buffers().close();
  }
}
