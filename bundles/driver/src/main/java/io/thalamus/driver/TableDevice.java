// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.driver.OperationTable.Key;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.Leases;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.Lifetime.ConstantReference;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationType;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Subgraph;
import io.thalamus.model.WideTypes;
import io.thalamus.operations.ControlFlow;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ValidationException;
import io.thalamus.operations.extension.ThalamusExtension;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * A device that claims the operations of a table and compiles models of nothing else. Thread-safe.
 * Drivers that run whole graphs extend it; those that run operations one by one extend {@link
 * KernelDevice}.
 */
public abstract class TableDevice implements Device {
  /** The types of tensors that operations compute or move. */
  private static final List<OperandType> TYPES =
      List.of(
          OperandCode.TENSOR_FLOAT32,
          OperandCode.TENSOR_FLOAT16,
          OperandCode.TENSOR_INT32,
          WideTypes.TENSOR_INT64,
          WideTypes.TENSOR_FLOAT64,
          OperandCode.TENSOR_BOOL8,
          OperandCode.TENSOR_QUANT16_SYMM,
          OperandCode.TENSOR_QUANT16_ASYMM,
          OperandCode.TENSOR_QUANT8_ASYMM,
          OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);

  private final DeviceInfo info;
  private final OperationTable<?> table;
  private final OperationCatalog catalog;
  private final BufferTracker buffers;
  private final BurstSource bursts;
  private volatile Found last = new Found(new WeakReference<>(null), new BitSet());

  /** A valid model and those of its operations that the table has, which nobody changes. */
  private record Found(WeakReference<Model> model, BitSet operations) {}

  /**
   * A device of these facts, whose buffers stand in memory of the host. One of type CPU takes
   * arguments by pointer too.
   *
   * @param table the implementations of operations; it names the extensions of all that are not
   *     NNAPI's
   * @param catalog the operations that it knows. It is fixed, as the facts are: a driver that
   *     follows an extension which comes and goes is activated anew with it.
   * @param bursts serves bursts of its prepared models
   */
  protected TableDevice(
      DeviceInfo info, OperationTable<?> table, OperationCatalog catalog, BurstSource bursts) {
    this(info, table, catalog, bursts, (_, bytes) -> BufferMemory.ofHost(bytes));
  }

  /**
   * A device whose buffers stand in memory of its own, where its facts promise any.
   *
   * @param memory where they stand
   */
  protected TableDevice(
      DeviceInfo info,
      OperationTable<?> table,
      OperationCatalog catalog,
      BurstSource bursts,
      BufferMemory.Source memory) {
    // FramedPreparedModel keeps the contract of pointers wherever its caller's thread computes.
    this.info = info.type() == DeviceType.CPU ? info.withPointerArguments() : info;
    this.table = Objects.requireNonNull(table, "table");
    this.catalog = Objects.requireNonNull(catalog, "catalog");
    this.bursts = Objects.requireNonNull(bursts, "bursts");
    this.buffers = new BufferTracker(this.info, memory);
    for (Key key : table.added()) {
      checkNamed(key.operation());
    }
  }

  /**
   * Returns the facts of a device that runs whole graphs of tensors of all usual types on the
   * processors, stores a compilation in two files, and has buffers.
   *
   * @param cost of operations, beside 1 for the reference
   */
  protected static DeviceInfo cpuFacts(String name, String version, float cost) {
    PerformanceInfo performance = PerformanceInfo.of(cost);
    Map<OperandType, PerformanceInfo> performances = new HashMap<>();
    for (OperandType type : TYPES) {
      performances.put(type, performance);
    }
    return DeviceInfo.builder(name, version)
        .type(DeviceType.CPU)
        .capabilities(
            new Capabilities(
                PerformanceInfo.UNSUPPORTED,
                performance,
                performances,
                PerformanceInfo.UNSUPPORTED,
                PerformanceInfo.UNSUPPORTED))
        .memoryDomain(true)
        .exactQuantized(true)
        .cacheSharedByPriorities(true)
        .extensions(Set.of(ThalamusExtension.NAME))
        .cacheNeeds(new CacheNeeds(1, 1))
        .build();
  }

  private void checkNamed(OperationType operation) {
    if (operation instanceof ExtensionOperationType type
        && !info.extensions().contains(type.extension())) {
      throw new IllegalArgumentException(
          info.name() + " has " + type.text() + ", but does not name its extension");
    }
  }

  @Override
  public final DeviceInfo info() {
    return info;
  }

  /** Returns the implementations of operations, from which the claims follow. */
  public final OperationTable<?> table() {
    return table;
  }

  @Override
  public final BitSet supportedOperations(Model model) throws DeviceException {
    try (Leases _ = PoolLeases.ofModel(model)) {
      return supported(model);
    }
  }

  private BitSet supported(Model model) throws DeviceException {
    BitSet supported = (BitSet) found(model, PrepareConfig.DEFAULT).clone();
    Subgraph graph = model.main();
    for (int i = 0; i < graph.operations().size(); i++) {
      if (!areConstantsReadable(model, graph, graph.operations().get(i))) {
        supported.clear(i);
      }
    }
    return supported;
  }

  /**
   * Checks a model and looks its operations up, unless it is the one that was looked up last: a
   * runtime asks which operations are supported before it has them prepared.
   */
  private BitSet found(Model model, PrepareConfig config) throws DeviceException {
    Found known = last;
    if (known.model().refersTo(model)) {
      return known.operations();
    }
    validate(model);
    BitSet operations = new BitSet();
    Subgraph graph = model.main();
    for (int i = 0; i < graph.operations().size(); i++) {
      checkStays();
      Checkpoint.pass(config);
      operations.set(i, isSupported(model, graph, graph.operations().get(i)));
    }
    last = new Found(new WeakReference<>(model), operations);
    return operations;
  }

  /**
   * Returns whether the device reads the memory of all constants of an operation and its graphs.
   */
  private boolean areConstantsReadable(Model model, Subgraph graph, Operation operation) {
    for (int input : operation.inputs()) {
      boolean isReadable =
          switch (graph.operands().get(input).lifetime()) {
            case ConstantReference constant -> info.memoryKinds().contains(constant.pool().kind());
            case SubgraphReference reference -> {
              Subgraph inner = model.referenced().get(reference.index());
              yield inner.operations().stream()
                  .allMatch(one -> areConstantsReadable(model, inner, one));
            }
            default -> true;
          };
      if (!isReadable) {
        return false;
      }
    }
    return true;
  }

  private boolean isSupported(Model model, Subgraph graph, Operation operation) {
    Optional<OperationDefinition> definition = catalog.find(operation.type());
    if (definition.isEmpty()) {
      return false;
    }
    OperationView view = OperationView.of(model, graph, operation);
    if (table.find(definition.get().kernelType(view), view).isEmpty()) {
      return false;
    }
    checkNamed(operation.type());
    return !ControlFlow.isControlFlow(operation.type())
        || ControlFlow.references(graph, operation).stream()
            .map(model.referenced()::get)
            .allMatch(inner -> isSupported(model, inner));
  }

  /** Returns whether all operations of a graph are supported. */
  private boolean isSupported(Model model, Subgraph graph) {
    return graph.operations().stream().allMatch(inner -> isSupported(model, graph, inner));
  }

  @Override
  public final PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    // Held until the prepared model holds them itself.
    try (Leases _ = PoolLeases.ofModel(model)) {
      return prepareHeld(model, config);
    }
  }

  private PreparedModel prepareHeld(Model model, PrepareConfig config) throws DeviceException {
    checkBegins(config);
    List<Operation> operations = model.main().operations();
    int missing = found(model, config).nextClearBit(0);
    if (missing < operations.size()) {
      throw DeviceException.invalid(
          "%s does not support operation %d %s"
              .formatted(info.name(), missing, operations.get(missing).type().text()));
    }
    for (SharedMemory pool : model.pools()) {
      if (!info.memoryKinds().contains(pool.kind())) {
        throw DeviceException.failure(
            info.name() + " cannot read constants in " + pool.kind().halName());
      }
    }
    return made(() -> compile(model, config));
  }

  private void checkBegins(PrepareConfig config) throws DeviceException {
    checkStays();
    if (config.deadline().hasPassed()) {
      throw new DeviceException(
          ErrorStatus.MISSED_DEADLINE_PERSISTENT, "the deadline passed before the compilation");
    }
  }

  /** The making of a prepared model. */
  @FunctionalInterface
  private interface Making {
    PreparedModel make() throws ValidationException, IOException, DeviceException;
  }

  private PreparedModel made(Making making) throws DeviceException {
    try {
      return making.make();
    } catch (DeviceException e) {
      // A bundle that stops does so before its client learns of it, which would take what the
      // device did not finish for its fault.
      throw isLeaving() ? leaving(e) : e;
    } catch (ValidationException e) {
      throw new DeviceException(e.status(), e.getMessage(), e);
    } catch (IOException e) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, e.getMessage(), e);
    } catch (OutOfMemoryError e) {
      throw new DeviceException(
          ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "there is no room for the model now", e);
    }
  }

  @Override
  public final PreparedModel prepareFromCache(PrepareConfig config) throws DeviceException {
    checkBegins(config);
    return made(() -> restore(config));
  }

  /**
   * Restores what {@link #compile} stored, before its deadline. Refuses here: a device that stores
   * nothing needs none.
   *
   * @throws ValidationException where shapes and values do not fit together
   * @throws IOException where the files hold something else than the device stored
   * @throws DeviceException where the cache does not hold it, or the device cannot restore it now
   */
  protected PreparedModel restore(PrepareConfig config)
      throws ValidationException, IOException, DeviceException {
    return Device.super.prepareFromCache(config);
  }

  /**
   * Compiles a model that is valid, of supported operations only, with constants in memory that the
   * device reads, and before its deadline.
   *
   * @throws ValidationException where shapes and values do not fit together
   * @throws DeviceException where the device cannot compile it now
   */
  protected abstract PreparedModel compile(Model model, PrepareConfig config)
      throws ValidationException, DeviceException;

  /**
   * Returns whether the device is about to leave, or has left: it begins no compilation then, and
   * leaves what it has not yet begun of one, with DEVICE_UNAVAILABLE. Asked between operations too.
   * False here: a device that looks at operations quickly, and has no threads, needs none.
   */
  protected boolean isLeaving() {
    return false;
  }

  private void checkStays() throws DeviceException {
    if (isLeaving()) {
      throw leaving(null);
    }
  }

  private DeviceException leaving(DeviceException cause) {
    return new DeviceException(
        ErrorStatus.DEVICE_UNAVAILABLE, info.name() + " is about to leave, or has left", cause);
  }

  /**
   * Checks that a run of a compiled model can have its memory.
   *
   * @throws DeviceException with RESOURCE_EXHAUSTED_PERSISTENT where this JVM may never have so
   *     much
   */
  protected final void checkRoom(long bytes) throws DeviceException {
    NativeMemory.check(bytes);
  }

  @Override
  public final DeviceBuffer allocate(BufferDesc desc, List<BufferRole> roles)
      throws DeviceException {
    return info.memoryDomain()
        ? buffers.allocate(desc, roles, this::graph)
        : Device.super.allocate(desc, roles);
  }

  private Optional<Subgraph> graph(PreparedModel model) {
    return model instanceof FramedPreparedModel<?> framed && framed.device() == this
        ? Optional.of(framed.graph())
        : Optional.empty();
  }

  /** The device's buffers, which it closes when it is deactivated. */
  protected final BufferTracker buffers() {
    return buffers;
  }

  /** Returns what serves bursts of prepared models. */
  final BurstSource bursts() {
    return bursts;
  }

  /** The operations that the device knows. */
  protected final OperationCatalog catalog() {
    return catalog;
  }

  private void validate(Model model) throws DeviceException {
    try {
      catalog.validator().validate(model);
    } catch (ValidationException e) {
      throw new DeviceException(e.status(), e.getMessage(), e);
    }
  }
}
