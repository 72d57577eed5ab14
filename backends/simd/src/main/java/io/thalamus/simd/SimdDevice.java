// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import io.thalamus.cache.CacheEngine;
import io.thalamus.cache.NoCacheEngine;
import io.thalamus.driver.BurstSource;
import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.driver.TableDevice;
import io.thalamus.driver.cache.CacheWriter;
import io.thalamus.driver.cache.CachedGraph;
import io.thalamus.driver.cache.DeviceCache;
import io.thalamus.driver.tiles.Workers;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.Model;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;
import io.thalamus.simd.compile.Activation;
import io.thalamus.simd.compile.Casting;
import io.thalamus.simd.compile.Comparison;
import io.thalamus.simd.compile.Convolution;
import io.thalamus.simd.compile.Detections;
import io.thalamus.simd.compile.DynamicQuantization;
import io.thalamus.simd.compile.Elementwise;
import io.thalamus.simd.compile.Finding;
import io.thalamus.simd.compile.GraphCompiler;
import io.thalamus.simd.compile.Lowering;
import io.thalamus.simd.compile.Lstm;
import io.thalamus.simd.compile.MatrixMultiply;
import io.thalamus.simd.compile.Normalization;
import io.thalamus.simd.compile.PackedWeights;
import io.thalamus.simd.compile.Pooling;
import io.thalamus.simd.compile.Quantize;
import io.thalamus.simd.compile.Rearrange;
import io.thalamus.simd.compile.Reduction;
import io.thalamus.simd.compile.Reshape;
import io.thalamus.simd.compile.Resize;
import io.thalamus.simd.compile.Selection;
import io.thalamus.simd.compile.Softmax;
import io.thalamus.simd.program.ArgumentArrays;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.Program;
import io.thalamus.simd.program.WarmUp;
import java.io.IOException;
import java.util.Optional;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/**
 * A fast device for what float and 8-bit networks spend their time on. Owns a few threads, which
 * end when it is deactivated; executions that are under way then end with a failure at the next
 * operation.
 */
@Component(service = Device.class, configurationPid = "io.thalamus.simd")
@Designate(ocd = SimdSettings.class)
@DeviceDriver(device = "simd", type = "CPU")
public final class SimdDevice extends TableDevice implements AutoCloseable {
  private static final String NAME = "thalamus-simd";

  /** A file that is longer was not written by this device. */
  private static final long MAX_FILE_BYTES = 1L << 30;

  private final OperationTable<Lowering> table;
  private final Budget budget;
  private final Workers workers;
  private final WarmUp warmUp;
  private final DeviceCache cache;

  /** Called by the component runtime. */
  @Activate
  public SimdDevice(BundleContext context, SimdSettings settings, @Reference CacheEngine engine) {
    this(
        context.getBundle().getVersion().toString(),
        settings.threads(),
        engine,
        BurstSource.of(context));
  }

  /**
   * A device for use without a framework, which leaves bursts to others.
   *
   * @param threads that compute an execution together; 0 for one on each processor
   */
  public SimdDevice(String version, int threads) {
    this(version, threads, new NoCacheEngine(), BurstSource.NONE);
  }

  /**
   * A device for use without a framework.
   *
   * @param threads that compute an execution together; 0 for one on each processor
   * @param engine vouches for what the device cached, and is closed after it
   */
  public SimdDevice(String version, int threads, CacheEngine engine, BurstSource bursts) {
    this(
        version,
        Budget.of(threads > 0 ? threads : Runtime.getRuntime().availableProcessors()),
        NAME,
        WarmUp.Stage.COLD,
        OperationTable.of(SimdDevice::addFamily),
        engine,
        bursts);
  }

  /** A device that divides its work as given, and computes by vectors from the start. */
  SimdDevice(String version, Budget budget) {
    this(version, budget, NAME, WarmUp.Stage.ALWAYS_WARM);
  }

  /**
   * A device for tests.
   *
   * @param threads what the names of its threads begin with
   * @param stage which kernels run
   */
  SimdDevice(String version, Budget budget, String threads, WarmUp.Stage stage) {
    this(
        version,
        budget,
        threads,
        stage,
        OperationTable.of(SimdDevice::addFamily),
        new NoCacheEngine(),
        BurstSource.NONE);
  }

  private SimdDevice(
      String version,
      Budget budget,
      String threads,
      WarmUp.Stage stage,
      OperationTable<Lowering> table,
      CacheEngine engine,
      BurstSource bursts) {
    super(
        cpuFacts("thalamus-simd", version, 0.3f),
        table,
        OperationCatalog.standard(),
        bursts,
        ArgumentArrays::allocate);
    this.table = table;
    this.cache = new DeviceCache(info(), engine, MAX_FILE_BYTES);
    this.budget = budget;
    this.workers = new Workers(budget.threads(), threads);
    this.warmUp = new WarmUp(threads + "-warm-up", stage);
  }

  /** Adds a family of operations, the usual ones first. */
  private static boolean addFamily(int number, OperationTable.Builder<Lowering> table) {
    switch (number) {
      case 0 -> Convolution.register(table);
      case 1 -> MatrixMultiply.register(table);
      case 2 -> Pooling.register(table);
      case 3 -> Reshape.register(table);
      case 4 -> Elementwise.register(table);
      case 5 -> Softmax.register(table);
      case 6 -> Reduction.register(table);
      case 7 -> Activation.register(table);
      case 8 -> Rearrange.register(table);
      case 9 -> Quantize.register(table);
      case 10 -> Normalization.register(table);
      case 11 -> Casting.register(table);
      case 12 -> Comparison.register(table);
      case 13 -> Selection.register(table);
      case 14 -> Finding.register(table);
      case 15 -> Lstm.register(table);
      case 16 -> Resize.register(table);
      case 17 -> DynamicQuantization.register(table);
      case 18 -> Detections.register(table);
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
    PackedWeights weights = PackedWeights.packing();
    PreparedModel prepared = compile(model, config, weights);
    store(model, weights, config);
    return prepared;
  }

  private PreparedModel compile(Model model, PrepareConfig config, PackedWeights weights)
      throws ValidationException, DeviceException {
    StaticGraph graph = StaticGraph.resolve(model.main(), catalog());
    Program program = GraphCompiler.compile(graph, table, catalog(), budget, config, weights);
    checkRoom(program.bytes());
    return new SimdPreparedModel(model, program, workers, warmUp, this);
  }

  /** Compiles a graph of supported operations. */
  Program compile(StaticGraph graph, PrepareConfig config)
      throws ValidationException, DeviceException {
    return GraphCompiler.compile(graph, table, catalog(), budget, config, PackedWeights.packing());
  }

  private void store(Model model, PackedWeights weights, PrepareConfig config) {
    Optional<CacheWriter> files =
        CachedGraph.isPossible(model.main()) ? cache.open(config) : Optional.empty();
    if (files.isPresent()) {
      try (CacheWriter writer = files.get()) {
        CachedProgram program = new CachedProgram(model.main(), weights.all());
        program
            .write(info().version(), MAX_FILE_BYTES)
            .ifPresent(contents -> writer.write(contents, config.deadline()));
      }
    }
  }

  @Override
  protected PreparedModel restore(PrepareConfig config)
      throws ValidationException, IOException, DeviceException {
    CachedProgram cached = CachedProgram.read(cache.read(config), info().version());
    return compile(Model.of(cached.graph()), config, PackedWeights.of(cached.weights()));
  }

  /** Refuses further work and ends the threads. */
  @Override
  @Deactivate
  public void close() {
    warmUp.close();
    workers.close();
    buffers().close();
  }
}
