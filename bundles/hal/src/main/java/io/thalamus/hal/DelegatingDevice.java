// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Model;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;

/**
 * A device that hands every call on to another one: the base of decorators. As thread-safe as the
 * other device, which it borrows.
 *
 * <p>A subclass that returns prepared models of its own derives them from {@link
 * DelegatingPreparedModel}, so that roles of buffers name the models that the other device knows.
 */
public abstract class DelegatingDevice implements Device {
  private final Device delegate;

  protected DelegatingDevice(Device delegate) {
    this.delegate = Objects.requireNonNull(delegate, "delegate");
  }

  /** Returns the device that answers the calls. */
  protected final Device delegate() {
    return delegate;
  }

  @Override
  public DeviceInfo info() {
    return delegate.info();
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    return delegate.supportedOperations(model);
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    return delegate.prepare(model, config);
  }

  @Override
  public PreparedModel prepareFromCache(PrepareConfig config) throws DeviceException {
    return delegate.prepareFromCache(config);
  }

  @Override
  public DeviceBuffer allocate(BufferDesc desc, List<BufferRole> roles) throws DeviceException {
    return delegate.allocate(desc, roles.stream().map(this::unwrapped).toList());
  }

  private BufferRole unwrapped(BufferRole role) {
    return role.model() instanceof DelegatingPreparedModel own && own.isOf(this)
        ? new BufferRole(own.delegate(), role.direction(), role.index(), role.frequency())
        : role;
  }
}
