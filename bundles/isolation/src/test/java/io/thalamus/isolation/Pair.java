// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import io.thalamus.burst.QueueBurstService;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.isolation.host.DeviceHost;
import io.thalamus.isolation.proxy.CacheTransfers;
import io.thalamus.isolation.proxy.HostMessages;
import io.thalamus.isolation.proxy.RemoteDevice;
import io.thalamus.isolation.wire.Connection;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Model;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Host and proxy of a device over a socket, both in this process. Owns the device. */
final class Pair implements Device, AutoCloseable {
  private static final RemoteDevice.Limits LIMITS =
      new RemoteDevice.Limits(Duration.ofSeconds(60), Duration.ofSeconds(60), true);

  private final Runnable closing;
  private final Path folder;

  /** Null where the host is in another process. */
  private final DeviceHost host;

  /** Null where the host is in this one. */
  private final Process process;

  private final HostMessages messages;
  private final QueueBurstService bursts = new QueueBurstService();
  private final CacheTransfers caches;
  private final RemoteDevice remote;

  private Pair(Device device, Class<?> child, Runnable closing, RemoteDevice.Limits limits)
      throws Exception {
    this.closing = closing;
    this.folder = Files.createTempDirectory("thalamus-pair");
    this.caches = new CacheTransfers(folder);
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("socket"));
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(address);
      this.process = child == null ? null : start(child, folder);
      this.host =
          child == null ? new DeviceHost(device, SocketChannel.open(address), folder) : null;
      this.messages = new HostMessages(server.accept(), "pair", caches, why -> {});
    }
    messages.start();
    if (host != null) {
      host.start(Map.of());
    }
    this.remote =
        RemoteDevice.open(
            messages.ready().get().info(), messages, folder, limits, () -> Optional.of(bursts));
  }

  /**
   * Puts a device behind a socket.
   *
   * @param closing closes the device
   */
  static Pair of(Device device, Runnable closing) throws Exception {
    return of(device, closing, LIMITS);
  }

  /** Puts a device behind a socket, on other terms. */
  static Pair of(Device device, Runnable closing, RemoteDevice.Limits limits) throws Exception {
    return new Pair(device, null, closing, limits);
  }

  /**
   * Starts a process that hosts a device.
   *
   * @param child its main class, which gets the folder with the socket
   */
  static Pair ofProcess(Class<?> child, RemoteDevice.Limits limits) throws Exception {
    return new Pair(null, child, () -> {}, limits);
  }

  private static Process start(Class<?> child, Path folder) throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("java.class.path"),
            child.getName(),
            folder.toString())
        .inheritIO()
        .start();
  }

  RemoteDevice remote() {
    return remote;
  }

  Connection connection() {
    return messages.connection();
  }

  Path folder() {
    return folder;
  }

  @Override
  public DeviceInfo info() {
    return remote.info();
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    return remote.supportedOperations(model);
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    return remote.prepare(model, config);
  }

  @Override
  public PreparedModel prepareFromCache(PrepareConfig config) throws DeviceException {
    return remote.prepareFromCache(config);
  }

  @Override
  public DeviceBuffer allocate(BufferDesc desc, List<BufferRole> roles) throws DeviceException {
    return remote.allocate(desc, roles);
  }

  @Override
  public void close() throws IOException {
    bursts.close();
    messages.close();
    if (host == null) {
      process.onExit().join();
    } else {
      host.close();
    }
    remote.close();
    caches.close();
    closing.run();
    try (var files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(folder);
  }
}
