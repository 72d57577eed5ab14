// SPDX-License-Identifier: Apache-2.0
/** What the kit's parts share to ask a device. */
package io.thalamus.tck.request;
