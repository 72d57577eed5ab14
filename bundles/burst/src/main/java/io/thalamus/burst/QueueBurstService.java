// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.model.ErrorStatus;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.ServiceScope;

/**
 * The bursts of one bundle, over message queues in shared memory. Thread-safe. Owns every client
 * and every server that it made, until they or it are closed. Starts no thread before it is used.
 */
@Component(service = BurstService.class, scope = ServiceScope.BUNDLE)
public final class QueueBurstService implements BurstService, AutoCloseable {
  private final Set<BurstChannel> channels = ConcurrentHashMap.newKeySet();
  private final Set<BurstServer> servers = ConcurrentHashMap.newKeySet();
  private final ForgottenClients clients = new ForgottenClients();
  private final AtomicInteger lastNumber = new AtomicInteger();
  private volatile boolean closed;

  /** A service without bursts. */
  @Activate
  public QueueBurstService() {
    // Nothing is made before it is asked for.
  }

  @Override
  public BurstContext serve(BurstConfig config, PreparedModel model) throws DeviceException {
    return serve(config, new SynchronousExecutor(Objects.requireNonNull(model, "model")));
  }

  @Override
  public BurstContext serve(BurstConfig config, BurstExecutor executor) throws DeviceException {
    Objects.requireNonNull(config, "config");
    Objects.requireNonNull(executor, "executor");
    requireOpen();
    BurstServer server =
        BurstServer.prepare(
            config, executor, "burst-" + lastNumber.incrementAndGet(), servers::remove);
    servers.add(server);
    if (!(config.callback() instanceof BurstChannel client && client.adopt(server, config))) {
      server.start();
    }
    if (closed) {
      server.close();
    }
    return server;
  }

  @Override
  public BurstClient open(PreparedModel model, BurstSettings settings) throws DeviceException {
    Objects.requireNonNull(model, "model");
    Objects.requireNonNull(settings, "settings");
    DeviceException refusal = null;
    for (int version = settings.version(); version > 0; version--) {
      try {
        return open(settings, version, true, model::configureExecutionBurst);
      } catch (DeviceException e) {
        refusal = e;
        if (e.status() != ErrorStatus.INVALID_ARGUMENT) {
          break;
        }
      }
    }
    switch (refusal.status()) {
      case GENERAL_FAILURE, INVALID_ARGUMENT -> {
        return open(settings, settings.version(), false, config -> serve(config, model));
      }
      default -> throw refusal;
    }
  }

  private BurstClient open(
      BurstSettings settings,
      int version,
      boolean isServedByDriver,
      BurstChannel.Connector connector)
      throws DeviceException {
    requireOpen();
    BurstChannel channel;
    try {
      channel = new BurstChannel(settings, version, isServedByDriver, this::forget);
    } catch (SharedMemoryException e) {
      throw new DeviceException(
          ErrorStatus.GENERAL_FAILURE, "no memory for a burst: " + e.getMessage(), e);
    }
    boolean isConnected = false;
    channels.add(channel);
    try {
      channel.connect(settings, connector);
      isConnected = true;
    } finally {
      if (!isConnected || closed) {
        channel.close();
      }
    }
    return clients.watch(channel);
  }

  private void forget(BurstChannel channel) {
    channels.remove(channel);
    clients.remove(channel);
  }

  private void requireOpen() throws DeviceException {
    if (closed) {
      throw DeviceException.failure("the burst service was let go by the bundle that had it");
    }
  }

  @Deactivate
  @Override
  public void close() {
    closed = true;
    List.copyOf(channels).forEach(BurstChannel::close);
    List.copyOf(servers).forEach(BurstServer::close);
    clients.close();
  }
}
