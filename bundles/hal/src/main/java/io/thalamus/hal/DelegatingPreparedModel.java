// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * A prepared model that hands every call on to another one: the base of decorators. As thread-safe
 * as the other model, which it owns: closing it closes the other.
 */
public abstract class DelegatingPreparedModel implements PreparedModel {
  private final Device owner;
  private final PreparedModel delegate;

  /**
   * Wraps a prepared model.
   *
   * @param owner the decorator that returns this model
   * @param delegate the model of the device within
   */
  protected DelegatingPreparedModel(Device owner, PreparedModel delegate) {
    this.owner = Objects.requireNonNull(owner, "owner");
    this.delegate = Objects.requireNonNull(delegate, "delegate");
  }

  /** Returns the model that answers the calls. */
  protected final PreparedModel delegate() {
    return delegate;
  }

  final boolean isOf(Device device) {
    return owner == device;
  }

  @Override
  public ExecutionResult execute(Request request, ExecutionConfig config) {
    return delegate.execute(request, config);
  }

  @Override
  public FencedExecution executeFenced(
      Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
    return delegate.executeFenced(request, waitFor, config);
  }

  @Override
  public BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
    return delegate.configureExecutionBurst(config);
  }

  @Override
  public Optional<ExecutionProfile> profile(Request request) throws DeviceException {
    return delegate.profile(request);
  }

  @Override
  public Optional<String> staleness() {
    return delegate.staleness();
  }

  @Override
  public long ownBytes() {
    return delegate.ownBytes();
  }

  @Override
  public void close() {
    delegate.close();
  }
}
