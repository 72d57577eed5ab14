// SPDX-License-Identifier: Apache-2.0
/**
 * An HTTP server whose routes are services. Netty is inside, and no part of this contract.
 *
 * <pre>
 *   connection -- limits, access --> Route.Handler.handle(HttpExchange) in a virtual thread
 *              &lt;-- send, stream, fail, from any thread
 * </pre>
 */
@Export
@Version("1.0.0")
package io.thalamus.http;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
